"""
Numbers in a sentence.

In:       a count and a noun; a size in bytes; seconds.
Out:      "1 state", "1,204 states"; "1.5 GiB", "12 MiB"; "40 s", "2 h 5 min".
Not here: tables and charts, sizes to the byte (tree_words.py).
"""


def number(count: int, noun: str, nouns: str = "") -> str:
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def about(size_bytes: int) -> str:
    """A size, rounded."""
    if size_bytes < 1 << 20:
        return f"{size_bytes / 2**10:.0f} KiB"
    gib = size_bytes >= 1 << 30
    return f"{size_bytes / 2**30:.1f} GiB" if gib else f"{size_bytes / 2**20:.0f} MiB"


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
