import pytest

from kernel.header import facts_of
from kernel.kernel import BadKernel, Facts


def test_a_header_without_fields_has_no_facts() -> None:
    assert facts_of(["// A thing\n//\n// free text: not ours\n\n@@ @@\n- a();\n"]) == Facts()


@pytest.mark.parametrize("mark", ["//", "#"])
def test_fields_are_read_and_go_on_in_lines_set_in(mark: str) -> None:
    text = f"""\
{mark} A thing
{mark} upstream: 0123456789ab ("btrfs: subject
{mark}           of two lines") (in v6.1)
{mark} absent: 5.10 (there is no
{mark}         such code)
{mark} absent: 6.1, 6.2 (not yet)
{mark} profiles: ext4, xfs
{mark} caught by:  durable, fsck
{mark} config: debug
{mark} workloads: one
{mark}   two three
{mark} Free text after it.
"""
    assert facts_of([text]) == Facts(
        absent={"5.10": "there is no such code", "6.1": "not yet", "6.2": "not yet"},
        profiles=("ext4", "xfs"),
        config=("debug",),
        workloads=("one", "two", "three"),
        upstream='0123456789ab ("btrfs: subject of two lines") (in v6.1)',
        oracles=("durable", "fsck"),
    )


def test_what_the_change_itself_says_is_no_header() -> None:
    assert facts_of(["# A thing\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n# config: debug\n"]) == Facts()


def test_the_files_of_a_folder_speak_together() -> None:
    facts = facts_of(
        ["# a\n# config: debug\n# profiles: ext4\n", "# a\n# absent: 5.10 (why)\n# profiles: ext4\n"]
    )
    assert (facts.config, facts.absent, facts.profiles) == (("debug",), {"5.10": "why"}, ("ext4",))


def test_an_absence_needs_its_reason() -> None:
    with pytest.raises(BadKernel, match=r"5\.10.*VERSION \(REASON\)"):
        facts_of(["# a\n# absent: 5.10\n"])


def test_a_header_may_name_the_models_that_show_a_bug():
    assert facts_of(["// A bug\n// models: R, T\n"]).models == ("R", "T")
    assert facts_of(["// A bug\n"]).models == ()


def test_a_header_may_name_the_slow_device():
    assert facts_of(["// A bug\n// device: slow\n"]).device == "slow"
    assert facts_of(["// A bug\n"]).device == ""


def test_a_header_may_name_no_other_device():
    with pytest.raises(
        BadKernel, match="'device: loud' in the header of a series: the only value allowed is slow"
    ):
        facts_of(["// A bug\n// device: loud\n"])


def test_a_header_may_say_in_how_many_recordings_a_race_shows():
    assert facts_of(["// A bug\n// orders: 40\n"]).orders == 40
    assert facts_of(["// A bug\n"]).orders == 0
    with pytest.raises(BadKernel, match=r"'orders: few'.*a number of recordings"):
        facts_of(["// A bug\n// orders: few\n"])


def test_a_header_may_say_in_how_many_recordings_with_a_stop_a_bug_shows():
    facts = facts_of(["// A bug\n// stops: 60\n"])
    assert (facts.stops, facts.orders) == (60, 0)
    with pytest.raises(BadKernel, match=r"'stops: 0'.*a number of recordings"):
        facts_of(["// A bug\n// stops: 0\n"])
