"""Where a key of a TOML file stands."""

import pytest

from harness.local.toml_lines import line_of

TEXT = """\
# machines
[a]
x = 1
long = [
  1,
  2,
]

# of the claims
[[a.claims]]
role = "disk"
[[a.claims]]
role = "log"
"odd key" = 1
[b]
a.c = 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("a", "x"), 3),
        (("a", "long"), 4),
        (("a", "claims", 0, "role"), 11),
        (("a", "claims", 1), 12),
        (("a", "claims", 1, "role"), 13),
        (("a", "claims", 1, "odd key"), 14),
        (("b", "a", "c"), 16),
        (("nothing",), 1),
    ],
)
def test_the_line_is_that_on_which_the_key_begins(path, line):
    """Also of arrays, of tables in arrays, and of dotted and quoted keys."""
    assert line_of(TEXT, path) == line
