"""Counted calls: what the guest tells is taken apart, and gcov reads it."""

import pytest

from harness.stages.gcov import Line, NotCounted, calls_from, counters_in, counts_of
from harness.tests.stages.counted_program import compiled, counters_after

PROGRAM = """\
static int twice(int n) { return 2 * n; }
int never(void) { return 1; }
int main(void) {
    int sum = 0;
    for (int i = 0; i < 7; i++)
        sum += twice(i);
    return sum == 1;
}
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A folder with the notes of a small program as fs/a.gcno, and its counters after one run."""
    folder = compiled(tmp_path_factory.mktemp("counted"), PROGRAM)
    return folder, counters_after(folder)


def test_what_the_guest_tells_is_taken_apart():
    """Each file by its name in the source, wherever the kernel was built; its bytes may hold anything."""
    told = b"/x/1/linux/obj.powercut/fs/btrfs/a.gcda 3\n\n1 /y/linux/obj.powercut/fs/b.gcda 0\n"
    assert list(counters_in(told)) == [("fs/btrfs/a.gcda", b"\n1 "), ("fs/b.gcda", b"")]


def test_calls_and_lines_are_counted(counted, tmp_path):
    """Also of a static function that the compiler inlined."""
    folder, counters = counted
    counts = counts_of({"fs/a.gcda": counters}, folder, tmp_path)
    assert counts.calls == {"main": 1, "never": 0, "twice": 7}
    assert Line("fs/a.c", 6, 7, "sum += twice(i);") in counts.lines["main"]


def test_calls_of_one_function_from_another(counted, tmp_path):
    """By the lines that name it; where no line does, the question was wrong and is not answered by 0."""
    folder, counters = counted
    counts = counts_of({"fs/a.gcda": counters}, folder, tmp_path)
    assert calls_from(counts, "main", "twice") == 7
    with pytest.raises(NotCounted, match=r"main\(\) of this kernel has no line that calls wice\(\)"):
        calls_from(counts, "main", "wice")


def test_counters_of_another_kernel_are_refused(counted, tmp_path):
    """gcov itself would read zeros."""
    folder, counters = counted
    other = counters[:8] + bytes(4) + counters[12:]  # the stamp: gcc/gcov-io.h
    with pytest.raises(NotCounted, match="stamp mismatch"):
        counts_of({"fs/a.gcda": other}, folder, tmp_path)


def test_missing_notes_are_named(tmp_path):
    """A file that counts and has no notes beside the kernel."""
    with pytest.raises(NotCounted, match=r"fs/b\.gcno is missing"):
        counts_of({"fs/b.gcda": b""}, tmp_path, tmp_path)
