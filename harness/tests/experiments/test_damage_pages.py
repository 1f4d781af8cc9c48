"""The pages of damage at rest: made by the oracles themselves, of runs made by hand."""

import errno

import msgspec
import pytest

from harness.stages.judge import DamageJudge, judge_again
from harness.tests.made_run import of_one_kind
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.tests.made import Bench, without
from oracles.verdict import Tier
from reports.results import DAMAGE, DamageCounts, ReadBlock, read_experiment, read_summary
from reports.terminal.terminal import damage as damage_lines

WORKLOAD = "setup\n  write foo 0 8K\nrun\n  write bar 0 8K\n  fsync bar\n"
BLOCKS = (ReadBlock(16, "superblock"), ReadBlock(9540, "log tree leaf"), ReadBlock(9541, "log tree leaf"))
WARNING = "4 BTRFS warning (device dm-2): checksum verify failed on logical 1 mirror 1"


def encoded(tree=None, **more):
    return msgspec.json.encode(Observation(tree=tree, **more))


@pytest.fixture
def report(tmp_path):
    return damage_report(tmp_path)


def damage_report(run):
    """Of a run whose one experiment has four damaged states of one state, one of them BROKEN."""
    bench = Bench(WORKLOAD)
    whole = bench.tree()
    judge = DamageJudge(bench.history, profile("btrfs"), Tier.FS)
    judge.add_undamaged("O:5", encoded(bench.tree(0)))
    judge.add_undamaged("O:6", encoded(whole))
    judge.read = {"O:6": BLOCKS}
    judge.add("D:O:6/16^9", "", encoded(mount_errno=errno.EINVAL))
    judge.add("D:O:6/9540^77", "", encoded(whole, kernel_log=(WARNING,)))
    judge.add("D:O:6/9540.3=0", "", encoded(without(whole, "foo")))
    judge.add("D:O:6/9541.0=0", "", encoded(whole))
    return of_one_kind(
        run,
        bench,
        judge,
        kind=DAMAGE,
        planned={"D": 4},
        undamaged=judge.undamaged,
        reads=judge.read,
        device_bytes=256 << 20,
    )


def test_a_block_that_failed_is_not_called_damaged(tmp_path):
    """On its page and on the first one, whatever command made the run: the names of the states say it."""
    bench = Bench(WORKLOAD)
    whole = bench.tree()
    judge = DamageJudge(bench.history, profile("btrfs"), Tier.FS)
    judge.add_undamaged("O:6", encoded(whole))
    judge.read = {"O:6": BLOCKS}
    judge.add("D:O:6/16!read", "", encoded(mount_errno=errno.EIO, second_tree=whole))
    judge.add("D:O:6/9540!write", "", encoded(mount_errno=errno.EIO, second_tree=without(whole, "foo")))
    report = of_one_kind(
        tmp_path,
        bench,
        judge,
        kind=DAMAGE,
        planned={"D": 2},
        undamaged=judge.undamaged,
        reads=judge.read,
        device_bytes=256 << 20,
    )
    page = (report / "experiment-0001.html").read_text()
    assert "one block fails: 2 states" in page
    assert "could not be written" in page
    assert "one sector was zeroed" not in page
    index = (report / "index.html").read_text()
    assert "2 device errors" in index
    assert ">Blocks that fail</h2>" in index
    (finding,) = read_summary(report.parent).findings
    assert finding.signature == "btrfs healed: tree changed (log tree leaf)"


def test_every_block_that_was_read_is_on_the_map_with_what_came_of_it(report):
    page = (report / "experiment-0001.html").read_text()
    for spec, outcome in (("16^9", "refused"), ("9540^77", "repaired"), ("9540.3=0", "changed, untold")):
        assert f"<code>D:O:6/{spec}</code>" in page
        assert f": {outcome}" in page
    assert 'href="#block-9540"' in page
    assert 'id="block-9540"' in page
    assert 'title="block 9540, log tree leaf: 1 repaired; 1 changed, untold"' in page
    assert "var(--d-repaired) 0.0% 50.0%, var(--d-changed-untold) 50.0% 100.0%" in page
    assert "checksum verify failed" in page
    assert 'id="state-D-O-6-9540-3-0"' in page


def test_the_finding_leads_to_its_damage_and_says_what_was_done(report):
    summary = read_summary(report.parent)
    assert (summary.exit, summary.states.planned, summary.states.checked) == (1, 4, 4)
    assert summary.models == {}
    (finding,) = summary.findings
    assert finding.signature == "btrfs noticed: changed tree untold (log tree leaf)"
    assert finding.state == "D:O:6/9540.3=0"
    assert (finding.subject, finding.presumes) == ("foo", "")
    page = (report / "finding-F1.html").read_text()
    assert "sector 3 of block 9540 zeroed" in page
    assert 'href="experiment-0001.html#state-D-O-6-9540-3-0"' in page
    assert "minimize" in page
    assert "export" in page
    assert "--to sh" in page


def test_the_summary_counts_outcomes_by_what_the_blocks_are(report):
    summary = read_summary(report.parent)
    log = {"repaired": 1, "changed, untold": 1, "unnoticed": 1}
    assert [(one.name, one.outcomes) for one in summary.damage] == [
        ("superblock", {"refused": 1}),
        ("log tree leaf", log),
    ]
    assert damage_lines(summary) == [
        "damage     refused 1; repaired 1; unnoticed 1; changed, untold 1",
        "           unnoticed: log tree leaf 1",
    ]
    page = (report / "index.html").read_text()
    assert "with damage at rest" in page
    assert "4 damaged states" in page
    assert "Damage at rest: <strong>examined</strong>" in page


def test_judging_again_finds_the_same(report):
    experiment = read_experiment(report.parent / "experiments/0001")
    assert judge_again(experiment, profile("btrfs"), Tier.FS) == experiment.judgement
    posix = judge_again(experiment, profile("btrfs"), Tier.POSIX)
    assert not any(v.violations for verdicts in posix.verdict_sets for v in verdicts)


def test_counts_of_many_kinds_of_blocks_are_folded(report):
    summary = read_summary(report.parent)
    many = tuple(DamageCounts("ext4", "6.12", f"kind of block {n}", {"unnoticed": n}) for n in range(1, 20))
    lines = damage_lines(msgspec.structs.replace(summary, damage=many))
    assert max(map(len, lines)) <= 100
    assert "kind of block 19 19" in " ".join(lines)
