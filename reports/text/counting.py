"""
Numbers in a sentence.

In:       a count and a noun.
Out:      "1 state", "1,204 states".
Not here: tables and charts.
"""


def number(count: int, noun: str, nouns: str = "") -> str:
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"
