"""What a page says of a recovered object and of a recovery, beside its verdicts."""

import msgspec
import pytest

from oracles.observation import Node, Observation, Scrub
from reports.pages.groups import problems
from reports.text.tree_words import notes

NODE = Node("foo", "fifo", 257, 0o644, 1, 0, 0)


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"uid": 7}, "owner 7:0"),
        ({"gid": 8}, "owner 0:8"),
        ({"mtime": 0}, "mtime 0 s"),
        ({"flags": "Cd"}, "inode flags Cd"),
        ({"device": "1:3"}, "device 1:3"),
        ({"dtype": "dir"}, "its directory entry says dir"),
    ],
)
def test_an_attribute_is_noted_where_a_workload_set_it(changed: dict[str, object], note: str) -> None:
    assert notes(NODE, {}) == []
    assert notes(msgspec.structs.replace(NODE, **changed), {}) == [note]


def test_a_failed_probe_is_a_problem_and_says_of_which_mount() -> None:
    seen = Observation(first_probe=("fsync .: EIO",), probe=("unlink A/foo: EIO",))
    assert problems(seen) == ["probe of the first mount: fsync .: EIO", "probe: unlink A/foo: EIO"]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (Observation(scrub=Scrub()), []),
        (Observation(scrub=Scrub(found=9), without=1), ["scrub: 9 wrong copies; all mended"]),
        (Observation(scrub=Scrub(found=9, found_again=2)), ["scrub: 9 wrong copies; 2 left"]),
        (Observation(scrub=Scrub(error=5)), ["scrub failed: EIO"]),
        (Observation(scrub=Scrub(), without=0, without_tree=()), ["without device 0 there is another tree"]),
        (
            Observation(scrub=Scrub(), without=0, without_errno=22, returned_errno=5),
            [
                "mount without device 0 failed: EINVAL",
                "mount with all devices again failed: EIO",
            ],
        ),
    ],
)
def test_what_a_scrub_found_is_told(seen: Observation, words: list[str]) -> None:
    assert problems(seen) == words
