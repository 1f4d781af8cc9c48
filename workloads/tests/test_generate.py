"""The bounds: every workload once, in a fixed order, told from its number alone."""

import hashlib
import itertools
import random

import pytest

from workloads import jlang, text
from workloads.generate import ace, own, space
from workloads.generate.space import Asked, BadBounds
from workloads.library import names
from workloads.tests.test_library import Names

# sha256 of what import makes of code/tests/seq1/j-lang-files/ of utsaslab/crashmonkey at 27ca57f: of the
# different workloads' texts, sorted; and of the 328 files' lines after "# run" without checkpoints, sorted.
CORPUS = "e35d9c8de9ffa97cd1c7b88618ce7723e4037e3ee33c47e96341424b6aeff399"
CORPUS_LINES = "b1785974cd8f65e9c19fc4c4323d21f2d65a9dbd07427221ac1887da6903ac2b"


def digest(texts):
    return hashlib.sha256("".join(sorted(texts)).encode()).hexdigest()


def made(asked):
    return [workload for workload in space.workloads(asked) if workload is not None]


# --- ACE -----------------------------------------------------------------------------------------


def test_length_1_is_the_published_corpus():
    """The same 328 files, line by line, which are 294 different sequences of system calls."""
    every = [ace.chosen(1, number) for number in range(ace.count(1))]
    assert digest("\n".join(ace.lines_of(one)) + "\n" for one in every) == CORPUS_LINES
    assert len({"\n".join(ace.lines_of(one)) for one in every}) == 310
    assert len(every) == 328
    different = made(Asked("ace", 1))
    assert len(different) == 294
    assert digest(text.format(workload) for workload in different) == CORPUS


@pytest.mark.parametrize(("length", "count"), [(1, 328), (2, 241_720), (3, 7_526_274)])
def test_the_counts_are_those_of_ace_py(length, count):
    """Which were counted by running it, with the operations that wrote the corpus."""
    assert ace.count(length) == count


def test_numbers_go_through_all_choices_in_order():
    """Length 2, act by act: what one act's numbers make is what its choices multiply to."""
    one, other = ace.ACTS[7], ace.ACTS[60]
    first = sum(
        len(list(itertools.product(*ace.choices((act, each))))) for act in ace.ACTS[:7] for each in ace.ACTS
    )
    before = sum(len(list(itertools.product(*ace.choices((one, each))))) for each in ace.ACTS[:60])
    wanted = [ace.Chosen((one, other), line) for line in itertools.product(*ace.choices((one, other)))]
    assert [ace.chosen(2, first + before + at) for at in range(len(wanted))] == wanted


def test_an_equal_workload_is_made_once():
    """Against a list of all that were seen, which is_first does not keep."""
    words = ("creat", "write", "mmapwrite", "unlink", "remove", "fdatasync")
    acts = [act for act in ace.ACTS if act.word in words and act.names == ("foo",)]
    acts.append(ace.Act("falloc", ("foo",), ("0", "append")))
    acts.sort(key=ace.ACTS.index)
    pairs = itertools.product(acts, acts)
    every = [ace.Chosen(pair, line) for pair in pairs for line in itertools.product(*ace.choices(pair))]
    seen, first = set(), []
    for one in every:
        lines = "\n".join(ace.lines_of(one)).replace("remove ", "unlink ")
        first.append(lines not in seen)
        seen.add(lines)
    assert [ace.is_first(one) for one in every] == first
    assert first.count(False) > 100


def test_length_3_keeps_what_shares_something():
    """As ace.py compares: sets of parameters, or of the letters of the only one."""
    creat, write = ace.Act("creat", ("foo",)), ace.Act("write", ("A/foo",), ("append",))
    link, rename = ace.Act("link", ("foo", "bar")), ace.Act("rename", ("A", "B"))

    def exists(*acts):
        prefix = ace._Prefix(3, 3)
        for act in acts:
            prefix = prefix.then(act) if prefix is not None else None
        return prefix is not None

    assert exists(creat, creat, creat)
    assert not exists(creat, link, link)  # "f" and "o" are not "foo"
    assert exists(creat, rename, creat)
    assert exists(write, ace.Act("write", ("foo",), ("append",)), ace.Act("dwrite", ("foo",), ("append",)))
    assert not exists(write, write, write)


# --- our own -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "counts"),
    [("link-rename-fsync", (734, 436_646)), ("full", (1_800, 2_996_138))],
)
def test_the_counts_of_our_own_bounds(bounds, counts):
    """A change of them is a change of every number and name."""
    assert tuple(own.count(bounds, length) for length in (1, 2)) == counts


@pytest.mark.parametrize("bounds", own.BOUNDS)
def test_every_number_of_length_1_is_another_workload(bounds):
    """And no number is left over."""
    every = [own.chosen(bounds, 1, number) for number in range(own.count(bounds, 1))]
    assert len({"\n".join(own.lines_of(bounds, one)) for one in every}) == len(every)
    assert [own.place(bounds, one) for one in every] == sorted(own.place(bounds, one) for one in every)


@pytest.mark.parametrize(
    ("bounds", "length"), [("link-rename-fsync", 1), ("full", 1), ("full", 2), ("full", 3)]
)
def test_what_is_the_same_but_for_names_is_made_once(bounds, length):
    """Of all that renaming makes of one workload, the one with the least number is first."""
    numbers = range(own.count(bounds, length))
    if length > 1:
        dice = random.Random(length)
        numbers = [dice.randrange(own.count(bounds, length)) for _ in range(200)]
    for number in numbers:
        one = own.chosen(bounds, length, number)
        family = [one, *(own.renamed(one, *swap) for swap in ((True, False), (False, True), (True, True)))]
        first = [each for each in family if own.is_first(bounds, each)]
        assert first
        assert all(each == first[0] for each in first)
        assert own.place(bounds, first[0]) == min(own.place(bounds, each) for each in family)


@pytest.mark.parametrize(
    "asked",
    [
        Asked("link-rename-fsync", 1),
        Asked("full", 1),
        Asked("link-rename-fsync", 2, sample=150, seed=1),
        Asked("full", 2, sample=150, seed=2),
    ],
)
def test_every_operation_of_our_own_can_succeed(asked):
    """The setup has what the operations need, and no more than they touch."""
    for workload in made(asked):
        tree = Names()
        for operation in (*workload.setup, *workload.run):
            try:
                tree.do(operation)
            except (AssertionError, KeyError):
                pytest.fail(f"{text.format_operation(operation)} in\n{text.format(workload)}")


def test_all_words_are_in_the_full_bounds():
    """But those that the file's head names."""
    run = {each.word for workload in made(Asked("full", 1)) for each in workload.run}
    for act in own.acts("full"):
        run.add(act.word.split(" ")[0])
    assert {"close", "snapshot", "msync"} <= run
    assert set(text.WORDS) - run == {
        "wait",
        "umount",
        "atomicwrite",
        "defragment",
        "verity",
        "fault",
        "errortag",
        "await",
        "stop",
        "fill",
        "freeze",
        "thaw",
        "grow",
        "relocate",
        "trim",
        "crash",
    }


# --- parts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", space.ENUMERATED)
def test_shards_split_and_a_name_is_the_same_in_each(bounds):
    """Together they are the whole."""
    whole = [workload.name for workload in made(Asked(bounds, 1))]
    parts = [[workload.name for workload in made(Asked(bounds, 1, (number, 3)))] for number in (1, 2, 3)]
    assert sorted(itertools.chain(*parts)) == sorted(whole)
    assert all(parts)
    assert sum(space.planned(Asked(bounds, 1, (number, 3))) for number in (1, 2, 3)) == space.total(
        Asked(bounds, 1)
    )


@pytest.mark.parametrize("bounds", space.ENUMERATED)
def test_a_sample_is_that_of_its_seed(bounds):
    """Different workloads, the same again for the same seed, others for another; its shards split it."""
    sample = [workload.name for workload in made(Asked(bounds, 2, sample=12, seed=7))]
    assert len(set(sample)) == 12
    assert sample == [workload.name for workload in made(Asked(bounds, 2, sample=12, seed=7))]
    assert sample != [workload.name for workload in made(Asked(bounds, 2, sample=12, seed=8))]
    assert sample[1::2] == [workload.name for workload in made(Asked(bounds, 2, (2, 2), 12, 7))]


def test_a_sample_of_all_is_all():
    """294 of the 328 differ; one more is refused."""
    every = {workload.name for workload in made(Asked("ace", 1))}
    assert {workload.name for workload in made(Asked("ace", 1, sample=294))} == every
    with pytest.raises(BadBounds, match="only 294 of the 328 workloads are different"):
        made(Asked("ace", 1, sample=295))


def test_generated_workloads_are_plain_text_without_a_header():
    """They can be written down and read again; no name is one of the library."""
    for bounds in space.ENUMERATED:
        for workload in made(Asked(bounds, 1))[::10]:
            again = text.parse(text.format(workload), workload.name)
            assert text.canonical(workload).run == again.run
            assert workload.comment == ()
            assert workload.name not in names()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Asked("ace", 1, (1, 1), 1000), "--sample 1000: ace:1 has only 328"),
        (Asked("ace", 1, (400, 1000)), "--shard 400/1000: this part is empty, because there are only 328"),
    ],
)
def test_a_part_that_is_empty_is_refused(asked, message):
    with pytest.raises(BadBounds, match=message):
        next(space.workloads(asked))


@pytest.mark.parametrize(
    "words", ["", "ace", "ace:", "ace:x", "ace:-1", "ace:0", "ace:4", "all:1", "ace:1:2"]
)
def test_bounds_that_do_not_exist_are_refused(words):
    with pytest.raises(BadBounds):
        space.parse_space(words)


@pytest.mark.parametrize("words", ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/-4", "a/b", "1/2/3", "1.5/2"])
def test_shards_that_do_not_exist_are_refused(words):
    with pytest.raises(BadBounds):
        space.parse_shard(words)


def test_every_line_that_two_operations_of_ace_make_is_mapped():
    """J-lang as ACE writes it has a counterpart in each, and comes back as it was."""
    seen: set[tuple[str, ...]] = set()
    for pair in itertools.product(ace.ACTS, ace.ACTS):
        one = ace.Chosen(pair, (ace.NONE, ace.SYNC))
        lines = ace.lines_of(one)
        if seen >= {tuple(line.split()) for line in lines}:
            continue
        seen |= {tuple(line.split()) for line in lines}
        workload = ace.named(2, 0, one)
        again = jlang.read(jlang.write(workload))
        assert (again.setup, again.run) == (workload.setup, workload.run)
    assert ("dwrite", "foo", "35768", "32768") in seen  # not aligned
