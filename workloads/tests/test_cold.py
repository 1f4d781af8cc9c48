"""Cold workloads: a mount ends setup, wherever it can be one."""

import pytest

from workloads import library, text
from workloads.cold import cold


def words(setup: str) -> list[str]:
    made = cold(text.parse(f"# a test\n{setup}run\n  fsync foo\n"))
    text.parse(text.format(made))
    return [operation.word for operation in made.setup]


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        ("setup\n  creat foo\n", ["creat", "remount"]),
        ("setup\n  creat foo\n  remount\n", ["creat", "remount"]),
        ("setup\n  creat foo\n  open foo @x\n", ["creat", "open"]),
        ("setup\n  creat foo\n  open foo @x\n  close @x\n", ["creat", "open", "close", "remount"]),
        ("", []),
    ],
)
def test_setup_ends_with_a_mount_unless_something_is_open(setup, expected):
    assert words(setup) == expected


def test_every_workload_of_the_library_is_legal_when_it_is_cold():
    made = [cold(one) for one in library.library()]
    for one in made:
        text.parse(text.format(one))
    assert sum(one != before for one, before in zip(made, library.library(), strict=True)) > 300


def test_run_and_name_stay(tmp_path):
    before = library.load("rename-then-reuse-name")
    after = cold(before)
    assert (after.name, after.run) == (before.name, before.run)
