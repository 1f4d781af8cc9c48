"""Which kernels a run builds, when workloads and profiles ask for variants of their config."""

import msgspec
import pytest

from harness.evidence.sweep import Part
from harness.runs.run import RunSpec, builds_of, plans_of, provenances
from kernel.kernel import BadKernel, Kernel, Provenance
from oracles.profiles import profile
from workloads.text import format as format_workload
from workloads.text import parse

PLAIN = parse("# plain\nrun\n  sync\n", "plain")
NEEDS_DEBUG = parse("# a\n# config: debug\nrun\n  sync\n", "needs-debug")
BTRFS = profile("btrfs")


def kernel(word: str, config: tuple[str, ...]) -> Kernel:
    path = f"/{word}/{','.join(config)}"
    return Kernel(path, Provenance(word, path, "", (), "", (), "", 0.0, 0, 0, "", config))


def kernels(run_spec: RunSpec) -> dict[tuple[str, tuple[str, ...]], Kernel]:
    return {(word, config): kernel(word, config) for word, config in builds_of(run_spec)}


def test_without_a_wish_there_is_one_kernel_a_word() -> None:
    assert builds_of(RunSpec((PLAIN,), (BTRFS,), ("6.12",))) == (("6.12", ()),)


def test_what_a_workload_or_profile_needs_is_built_beside_what_was_asked_for() -> None:
    small = msgspec.structs.replace(BTRFS, config=("small",))
    run_spec = RunSpec((PLAIN, NEEDS_DEBUG), (BTRFS, small), ("6.12",))
    assert [config for _, config in builds_of(run_spec)] == [(), ("debug",), ("small",), ("debug", "small")]
    always = RunSpec((PLAIN, NEEDS_DEBUG), (BTRFS,), ("6.12",), ("debug",))
    assert builds_of(always) == (("6.12", ("debug",)),)


def test_a_sweep_builds_only_what_its_parts_need() -> None:
    parts = (Part("6.12", BTRFS, (PLAIN,)), Part("6.1", BTRFS, (NEEDS_DEBUG,)))
    run_spec = RunSpec((PLAIN, NEEDS_DEBUG), (BTRFS,), ("6.12", "6.1"), parts=parts)
    assert builds_of(run_spec) == (("6.12", ()), ("6.1", ("debug",)))
    assert [plan.workload.name for plan in plans_of(run_spec, kernels(run_spec))] == ["plain", "needs-debug"]


def test_each_experiment_has_the_kernel_it_needs_and_keeps_what_that_was() -> None:
    run_spec = RunSpec((PLAIN, NEEDS_DEBUG), (BTRFS,), ("6.12", "6.1"))
    plans = plans_of(run_spec, kernels(run_spec))
    assert [(plan.kernel_key, plan.config) for plan in plans] == [
        ("/6.12/", ()),
        ("/6.12/debug", ("debug",)),
        ("/6.1/", ()),
        ("/6.1/debug", ("debug",)),
    ]


def test_what_the_profile_does_first_comes_before_the_setup_of_each_workload_and_once() -> None:
    """Once, too, where the workload comes from a run of that profile."""
    full = msgspec.structs.replace(BTRFS, setup="creat full\nfallocate full alloc 0 8M")
    own = parse("setup\n  creat foo\nrun\n  sync\n", "own")
    run_spec = RunSpec((own, PLAIN), (full,), ("6.12",))
    plans = plans_of(run_spec, kernels(run_spec))
    assert [[op.word for op in plan.workload.setup] for plan in plans] == [
        ["creat", "fallocate", "creat"],
        ["creat", "fallocate"],
    ]
    again = parse(format_workload(plans[0].workload), "own")
    run_spec = RunSpec((again,), (full,), ("6.12",))
    assert plans_of(run_spec, kernels(run_spec))[0].workload == again


def test_the_question_keeps_where_every_variant_came_from() -> None:
    run_spec = RunSpec((PLAIN, NEEDS_DEBUG), (BTRFS,), ("6.12",))
    facts = provenances(kernels(run_spec))
    assert list(facts) == ["6.12"]
    assert facts["6.12"]["key"] == "/6.12/"
    assert facts["6.12"]["other_variants"]["debug"]["key"] == "/6.12/debug"


def test_an_unknown_variant_in_a_workload_is_bad_input() -> None:
    run_spec = RunSpec((parse("# a\n# config: nonsense\nrun\n  sync\n", "w"),), (BTRFS,), ("6.12",))
    with pytest.raises(BadKernel, match="nonsense"):
        builds_of(run_spec)


def test_a_variant_of_one_filesystem_alone_is_not_built_for_another() -> None:
    needs = parse("# a\n# config: xfs-debug\nrun\n  sync\n", "needs-xfs-debug")
    run_spec = RunSpec((needs,), (BTRFS, profile("xfs")), ("6.12",))
    assert builds_of(run_spec) == (("6.12", ()), ("6.12", ("xfs-debug",)))
