"""
Numbers in a sentence.

In:       a count and a noun; a size in bytes.
Out:      "1 state", "1,204 states"; "1.5 GiB", "12 MiB".
Not here: tables and charts, sizes to the byte (tree_words.py).
"""


def number(count: int, noun: str, nouns: str = "") -> str:
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def about(size_bytes: int) -> str:
    """A size, rounded."""
    gib = size_bytes >= 1 << 30
    return f"{size_bytes / 2**30:.1f} GiB" if gib else f"{size_bytes / 2**20:.0f} MiB"
