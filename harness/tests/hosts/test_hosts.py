"""hosts.toml: read with precise complaints, written with the user's comments."""

import re

import pytest

from harness.hosts import hosts, token
from harness.hosts.hosts import BadHost, Claim, Host, forget, host, keep, parse
from harness.local.root import ROOT

CLAIM = Claim("disk", "/dev/disk/by-id/nvme-x", "S1", 1 << 30, "1d", "ab12")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(hosts.PLACE, str(tmp_path / "hosts.toml"))
    return tmp_path / "hosts.toml"


def test_a_machine_needs_only_an_address():
    """Everything else has a default."""
    assert parse('[nuc1]\naddress = "root@nuc1"\n', "f") == {"nuc1": Host("nuc1", "root@nuc1")}


def test_a_command_is_a_line_or_words():
    """Both mean the same."""
    found = parse('[a]\naddress = "a"\npower = "p -x \'1 2\'"\nreset = ["r", "1 2"]\n', "f")["a"]
    assert (found.power, found.reset) == (("p", "-x", "1 2"), ("r", "1 2"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[a]\naddress = "a"\n\npowr = "x"\n', "f:4: [a] unknown key `powr`; did you mean `power`?"),
        ('[a]\naddress = "a"\nzzz = 1\n', "f:3: [a] unknown key `zzz`; the keys are address, ssh_config, "),
        ('[a]\naddress = "a"\nport = "22"\n', "f:3: [a] `port`: Expected `int`, got `str`"),
        ("[a]\nport = 22\n", "f:1: [a] Object missing required field `address`"),
        ('[a]\naddress = "-oProxyCommand=x"\n', "f:2: `address` is what ssh connects to"),
        ('[a]\naddress = "a"\npower = "\'x"\n', "f:3: `power`: No closing quotation"),
        ('address = "a"\n', "f:1: `address` stands outside of a machine's table"),
        ('[uml]\naddress = "a"\n', "f:1: a machine cannot be called uml"),
        ('["a b"]\naddress = "a"\n', "f:1: the name of a machine has letters"),
        (
            '[a]\naddress = "a"\n[[a.claims]]\nrol = "disk"\n',
            "f:4: [a] unknown key `rol`; did you mean `role`?",
        ),
        ("[a\n", "f: Expected ']'"),
    ],
)
def test_a_mistake_is_named_with_its_line(text, expected):
    """The line of the key, and the key that may be meant."""
    with pytest.raises(BadHost) as caught:
        parse(text, "f")
    assert str(caught.value).startswith(expected)


def test_what_is_kept_is_read_again(place):
    """With every field."""
    one = Host("a", "u@a", "cfg", 2222, ("p", "1 2"), ("c",), ("r",), (CLAIM,))
    keep(one)
    keep(Host("b", "b"))
    assert hosts.hosts() == {"a": one, "b": Host("b", "b")}


def test_the_users_comments_stay(place):
    """Where a value beside them changes, too; and commands stay as they were written."""
    place.write_text('# mine\n[a]\naddress = "a"  # the blue one\npower = \'p "1 2"\'\n')
    keep(Host("a", "a", power=("p", "1 2"), claims=(CLAIM,)))
    keep(Host("b", "b"))
    text = place.read_text()
    assert text.startswith('# mine\n[a]\naddress = "a"  # the blue one\npower = \'p "1 2"\'\n')
    assert host("a").claims == (CLAIM,)
    keep(Host("a", "a", power=("p", "1 2")))
    assert "claims" not in place.read_text()


def test_a_broken_file_is_not_changed(place):
    """The user mends it first."""
    place.write_text("[a\n")
    with pytest.raises(BadHost):
        keep(Host("b", "b"))
    assert place.read_text() == "[a\n"


def test_a_link_to_the_file_stays_a_link(place, tmp_path):
    """People keep such files in a repository."""
    (tmp_path / "real").mkdir()
    place.symlink_to(tmp_path / "real" / "hosts.toml")
    keep(Host("a", "a"))
    assert place.is_symlink()
    assert host("a") == Host("a", "a")


def test_forget_removes_the_machine_alone(place):
    """One that is not there is an error."""
    keep(Host("a", "a"))
    keep(Host("b", "b"))
    forget("a")
    assert list(hosts.hosts()) == ["b"]
    with pytest.raises(BadHost, match="no machine a"):
        forget("a")


def test_an_unknown_name_gets_a_suggestion(place):
    """And the command that adds one."""
    keep(Host("nuc1", "a"))
    with pytest.raises(BadHost, match=r"Similar names: nuc1\. Add it: powercut host add nuc root@ADDRESS"):
        host("nuc")


def test_the_reference_has_every_key():
    """docs/reference/hosts.md, and no other in its tables."""
    page = (ROOT / "docs" / "reference" / "hosts.md").read_text()
    keys = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert keys == [*hosts._Table.__struct_fields__, *Claim.__struct_fields__]


def test_the_example_of_the_reference_can_be_read():
    """As it stands there."""
    page = (ROOT / "docs" / "reference" / "hosts.md").read_text()
    found = parse(page.partition("```toml\n")[2].partition("```")[0], "f")["nuc1"]
    assert found.power[-1] == "power"
    assert found.claims[0].role == "disk"


def test_the_token_of_the_reference_is_that_of_its_claim():
    """Byte for byte."""
    page = (ROOT / "docs" / "reference" / "hosts.md").read_text()
    claim = parse(page.partition("```toml\n")[2].partition("```")[0], "f")["nuc1"].claims[0]
    shown = page.rpartition("```text\n")[2].partition("```")[0]
    assert token.block(claim).rstrip(b"\0").decode() == shown
