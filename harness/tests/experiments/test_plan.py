"""A plan says what an experiment is, and is as good on another machine."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from harness.experiments.plan import FORMAT, BadPlan, Plan, decoded, encoded
from harness.guests.agent_binary import AgentError
from harness.runs.run import RunSpec, builds_of, guest_spec, plans_of
from kernel.kernel import BuildFailed, Kernel, Provenance
from oracles.faults.damage import Damage
from oracles.profiles import PROFILES, profile
from oracles.verdict import Tier
from reports.results import DAMAGE, FAST, SLOW, Device
from workloads.library import library
from workloads.text import parse

KEY = "0123456789abcdef0123"
AGENT = "0123456789abcdef"
WORKLOAD = parse("setup\n  mkdir A\nrun\n  creat A/foo\n  fsync A\n", "made")
PROVENANCE = Provenance("6.12", KEY, "", (), "", (), "", 0.0, 0, 0, "")


def plans(run_spec: RunSpec) -> list[Plan]:
    """As a run makes them, of kernels that lie where this machine has them."""
    kernels = {
        (word, config): Kernel(f"{Path.home()}/.cache/powercut/builds/{KEY}/linux", PROVENANCE)
        for word, config in builds_of(run_spec)
    }
    return plans_of(run_spec, kernels, agent=AGENT)


def made(**instead: object) -> Plan:
    (plan,) = plans(RunSpec((WORKLOAD,), (profile("btrfs"),), ("6.12",)))
    return msgspec.structs.replace(plan, **instead)


def test_every_plan_of_the_library_is_the_same_after_the_way_there() -> None:
    every = RunSpec(tuple(library()), PROFILES, ("6.12+planted/hole-not-logged",), log_bytes=1 << 30)
    done = plans(every)
    assert len(done) == len(PROFILES) * len(every.workloads) > 1000
    for plan in done:
        assert decoded(encoded(plan)) == plan


@pytest.mark.parametrize(
    "run_spec",
    [
        RunSpec((WORKLOAD,), (profile("xfs"),), ("6.1",), tier=Tier.SOMC, models=("O", "R"), seed=7),
        RunSpec((WORKLOAD,), (profile("ext4"),), ("6.1",), kind=DAMAGE, damages=(Damage(3, bit=9),)),
        RunSpec((WORKLOAD,), (profile("ext4"),), ("6.1", "6.12"), against="6.1", with_fsck=False),
    ],
    ids=["models", "damage", "comparison"],
)
def test_what_is_asked_beside_the_workload_goes_along(run_spec: RunSpec) -> None:
    for plan in plans(run_spec):
        assert decoded(encoded(plan)) == plan
        assert encoded(decoded(encoded(plan))) == encoded(plan)


def test_the_device_goes_along_and_a_plan_without_one_means_the_fast_one() -> None:
    slow = made(device=Device(SLOW, 7))
    assert decoded(encoded(slow)).device == Device(SLOW, 7)
    older = msgspec.json.decode(encoded(slow))
    older["powercut_plan"] = 1
    del older["plan"]["device"]
    assert decoded(msgspec.json.encode(older)) == made()


def test_each_workload_has_delays_of_its_own_unless_a_seed_is_given() -> None:
    two = (WORKLOAD, msgspec.structs.replace(WORKLOAD, name="other"))
    run_spec = RunSpec(two, (profile("btrfs"),), ("6.12",), devices=(FAST, SLOW))
    devices = [plan.device for plan in plans(run_spec)]
    assert [device.kind for device in devices] == [FAST, FAST, SLOW, SLOW]
    assert devices[0] == devices[1] == Device()
    assert devices[2].seed != devices[3].seed
    assert [plan.device for plan in plans(run_spec)] == devices
    other = [plan.device for plan in plans(msgspec.structs.replace(run_spec, seed=1))]
    assert other[2].seed not in (devices[2].seed, devices[3].seed)
    given = [plan.device for plan in plans(msgspec.structs.replace(run_spec, device_seed=7))]
    assert given == [Device(), Device(), Device(SLOW, 7), Device(SLOW, 7)]


def strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def paths_of_this_machine(raw: bytes) -> list[str]:
    words = (word.strip("\"',;()") for text in strings(msgspec.json.decode(raw)) for word in text.split())
    return [word for word in words if word.startswith("/") and len(word) > 1 and Path(word).parent.exists()]


def test_no_path_of_this_machine_is_in_it() -> None:
    every = RunSpec(tuple(library()), (profile("btrfs"), profile("xfs")), ("6.12",))
    assert [paths_of_this_machine(encoded(plan)) for plan in plans(every)] == [[]] * 2 * len(every.workloads)
    with_one = made(kernel_key=f"{Path.home()}/.cache")
    assert paths_of_this_machine(encoded(with_one)) == [f"{Path.home()}/.cache"]  # the test can fail


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "no plan"),
        (b"\xff\xfe", "no plan"),
        (b'{"kernel": "6.12"}', "no plan: Object contains unknown field `kernel`"),
        (b'{"powercut_plan":%d,"plan":{}}' % FORMAT, "no plan: Object missing required field `number`"),
        (
            b'{"powercut_plan":%d,"plan":{"number":1}}' % (FORMAT + 1),
            f"format {FORMAT + 1}, and this version of Powercut",
        ),
    ],
    ids=["nothing", "no text", "something else", "empty", "of a later version"],
)
def test_what_is_no_plan_of_this_format_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(BadPlan, match=message):
        decoded(raw)


# --- the machine that does it ---------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its cache, with a kernel and an agent that were built there."""
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path))
    place = tmp_path / "builds" / KEY
    place.mkdir(parents=True)
    (place / "provenance.json").write_bytes(msgspec.json.encode(PROVENANCE))
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / AGENT).touch()
    return tmp_path


def test_kernel_and_agent_are_found_where_the_experiment_is_done(machine: Path) -> None:
    plan = decoded(encoded(made(log_bytes=1 << 20)))
    spec = guest_spec(plan)
    assert spec.kernel == machine / "builds" / KEY / "linux"
    assert spec.agent == machine / "agents" / AGENT
    assert (spec.device_bytes, spec.log_bytes) == (profile("btrfs").size_bytes, 1 << 20)
    assert (spec.processor, spec.kind) == (None, "uml")


def test_what_is_not_there_is_refused_by_name(machine: Path) -> None:
    other = KEY.replace("0", "f")
    with pytest.raises(BuildFailed, match=f"no kernel with key '{other}'"):
        guest_spec(made(kernel_key=other))
    with pytest.raises(BuildFailed, match=r"no kernel with key .\.\./\.\./etc"):
        guest_spec(made(kernel_key="../../etc"))
    with pytest.raises(
        AgentError, match=r"the agent .\.\./builds. is not available; the agent of this checkout is \w+"
    ):
        guest_spec(made(agent="../builds"))
