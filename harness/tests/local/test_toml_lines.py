"""Where a key of a TOML file stands."""

import msgspec
import pytest

from harness.local.toml_lines import complaint, line_of

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
        (("a", "nothing"), 2),
        (("a", "claims", 1, "nothing"), 12),
        (("nothing",), 1),
    ],
)
def test_the_line_is_that_on_which_the_key_begins(path, line):
    """Also of arrays, of tables in arrays, and of dotted and quoted keys. A key that is left out has the line
    of its table."""
    assert line_of(TEXT, path) == line


def test_what_looks_like_a_key_inside_of_a_value_is_none():
    """Only the parser knows: no pattern that is held against single lines does."""
    assert line_of('a = """\nb = 1\n"""\nb = 2\n', ["b"]) == 4


def test_the_place_in_a_complaint_of_msgspec_is_a_path():
    class Claim(msgspec.Struct):
        role: str

    class Host(msgspec.Struct):
        claims: list[Claim]

    for found, said, path in (
        ({"claims": [{"role": 1}]}, "Expected `str`, got `int`", ["claims", 0, "role"]),
        ({}, "Object missing required field `claims`", []),
    ):
        with pytest.raises(msgspec.ValidationError) as caught:
            msgspec.convert(found, Host)
        assert complaint(caught.value) == (said, path)
