"""A run is added up; what was not examined is never a pass."""

from pathlib import Path

import msgspec
import pytest

from harness.evidence import named
from harness.evidence import summary as summing
from harness.evidence.known import EVERYWHERE, KnownBug
from harness.evidence.store import NoResults, new_run, write_summary
from harness.evidence.summary import experiment_folders, shown, sum_up
from harness.stages.judge import judge_again
from harness.stages.recover import Recovered
from harness.tests.made_run import ENTRY_COUNT, FLUSHED, judged, keep, question, seen
from oracles.finding import Witness
from oracles.profiles import profile
from oracles.spec import PRESUMES
from oracles.verdict import Tier
from reports.ci.junit import write_junit
from reports.ci.ktap import write_ktap
from reports.coverage.results import RECORDED
from reports.formats import NOT_KNOWN
from reports.pages.html import write_report
from reports.results import (
    Coverage,
    ModelCounts,
    StateCounts,
    Summary,
    read_experiment,
    read_question,
    read_summary,
)
from reports.terminal.terminal import summary_lines
from reports.tests.make_coverage import kernel, line, make_coverage
from workloads.entries import EntrySummary
from workloads.history import History

LOST = {ENTRY_COUNT: seen(0)}
UNREADABLE = {2: b"{"}
STATES = ENTRY_COUNT + 1


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Of one planned experiment."""
    run = new_run(tmp_path)
    question(run)
    return run


def add_up(run: Path) -> Summary:
    summary = sum_up(run, 2.0, boots=1)
    counts = summary.states
    assert counts.planned == counts.judged + counts.unknown
    return summary


def test_states_are_checked_or_identical_or_unknown(run: Path) -> None:
    keep(run, judge=judged(UNREADABLE, same=(4, 5)))
    assert add_up(run).states == StateCounts(STATES, STATES - 3, 2, 1)


def test_an_identical_state_that_is_unknown_is_unknown(run: Path) -> None:
    keep(run, judge=judged(UNREADABLE, same=(2,)))
    assert add_up(run).states == StateCounts(STATES, STATES - 1, 0, 1)


def test_states_that_were_never_reached_are_unknown(run: Path) -> None:
    keep(run, judge=judged(upto=2), trouble="recovering: guest lost")
    summary = add_up(run)
    assert summary.states == StateCounts(STATES, 3, 0, STATES - 3)
    assert summary.exit == 3


def test_experiments_add_up(run: Path) -> None:
    question(run, planned=2)
    keep(run, 1)
    keep(run, 2)
    summary = add_up(run)
    assert (summary.experiments, summary.states.planned, summary.log_entries) == (
        2,
        2 * STATES,
        2 * ENTRY_COUNT,
    )
    assert summary.verdicts["durable"].holds == 2 * STATES
    assert summary.rates["seconds"] == {"recover": 2.0}
    assert summary.rates["states_per_s"] == STATES
    assert summary.rates["checks"] == {"run": 4, "proven": 6, "audited": 3}


@pytest.mark.parametrize(
    ("reports", "exit_status"),
    [({}, 0), (LOST, 1), (UNREADABLE, 3), ({**UNREADABLE, **LOST}, 1)],
    ids=["all hold", "broken", "unknown", "broken and unknown"],
)
def test_the_exit_status_tells_the_worst_that_is_sure(
    run: Path, reports: dict[int, bytes], exit_status: int
) -> None:
    keep(run, judge=judged(reports))
    assert add_up(run).exit == exit_status


@pytest.mark.parametrize("second", [{}, LOST])
def test_an_experiment_that_was_not_recorded_is_never_a_pass(run: Path, second: dict[int, bytes]) -> None:
    keep(run, 1, trouble="recording: the log device overflowed", recorded=False)
    keep(run, 2, judge=judged(second))
    summary = add_up(run)
    assert summary.exit == (1 if second else 3)
    assert summary.reasons == ("experiment 1 (btrfs, made): recording: the log device overflowed",)


def test_a_run_of_only_failed_recordings_examined_nothing(run: Path) -> None:
    keep(run, trouble="recording: no guest", recorded=False)
    summary = add_up(run)
    assert (summary.exit, summary.states) == (3, StateCounts())
    assert "no state was examined" in summary.reasons


def test_no_experiment_is_never_a_pass(run: Path) -> None:
    assert add_up(run).exit == 3
    assert add_up(run).reasons[1:] == ("no state was examined",)


def test_fewer_experiments_than_planned_is_never_a_pass(run: Path) -> None:
    question(run, planned=2)
    keep(run)
    summary = add_up(run)
    way_on = f"continue with: powercut run --resume {shown(run)}"
    assert (summary.exit, summary.reasons) == (3, (f"1 of 2 planned experiments are missing; {way_on}",))
    assert (summary.experiments, summary.planned_experiments) == (1, 2)


def test_a_run_that_never_said_how_many_it_planned_is_never_a_pass(run: Path) -> None:
    question(run, planned=NOT_KNOWN)
    keep(run)
    summary = add_up(run)
    assert summary.exit == 3
    assert "did not record how many experiments it planned" in summary.reasons[0]


def test_experiments_stand_in_the_order_of_their_numbers(run: Path) -> None:
    for number in (10000, 2, 9999):
        (run / "experiments" / f"{number:04d}").mkdir()
    assert [path.name for path in experiment_folders(run)] == ["0002", "9999", "10000"]


def test_a_log_without_flush_or_fua_is_never_a_pass(run: Path) -> None:
    keep(run, entries=tuple(EntrySummary(0, entry.sector, 1) for entry in FLUSHED))
    summary = add_up(run)
    assert summary.exit == 3
    assert "FLUSH or FUA" in summary.reasons[0]


def test_one_fua_is_enough_to_have_asked(run: Path) -> None:
    keep(run, entries=(EntrySummary(2, 0, 1), *(EntrySummary(0, 8, 1) for _ in FLUSHED[1:])))
    assert add_up(run).exit == 0


def test_states_that_no_oracle_judged_are_never_a_pass(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.stages.judge.judge_observation", lambda *_: ())
    keep(run)
    summary = add_up(run)
    assert (summary.exit, summary.states.unknown) == (3, STATES)
    assert "no oracle could judge" in summary.reasons[0]


@pytest.mark.parametrize(("ran", "exit_status"), [((), 3), ((RECORDED,), 0)])
def test_verdicts_about_a_series_that_never_ran_are_never_a_pass(
    run: Path, ran: tuple[str, ...], exit_status: int
) -> None:
    """Though every one of them HOLDS. The last lines say so in words."""
    keep(run)
    make_coverage(run, kernel("6.12+mine", (line("+", 11, "\tret = first(inode);", *ran),)))
    summary = add_up(run)
    assert summary.exit == exit_status
    assert summary.reasons == ()
    said = "\n".join(summary_lines(summary, read_question(run), run / "report/index.html"))
    assert ("exit       3: no line of the series ran, see coverage" in said) == (not ran)


def test_a_finding_is_broken_also_where_no_line_of_the_series_ran(run: Path) -> None:
    keep(run, judge=judged(LOST))
    make_coverage(run, kernel("6.12+mine", (line("+", 11, "\tret = first(inode);"),)))
    assert add_up(run).exit == 1


def test_an_unknown_state_gives_its_reason_once(run: Path) -> None:
    keep(run, judge=judged({2: b"{", 3: b"{"}))
    (reason,) = add_up(run).reasons
    assert reason.startswith("made O:2: the report of the agent is invalid")
    assert reason.endswith("(and in 1 more states)")


def test_a_reason_that_stands_within_another_is_told_too(run: Path) -> None:
    keep(run, judge=judged({2: b'{"trouble":"no memory left"}', 3: b'{"trouble":"no memory"}'}))
    assert add_up(run).reasons == ("made O:2: no memory left", "made O:3: no memory")


def test_reasons_beyond_the_shown_ones_are_counted(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summing, "REASONS_MAX", 1)
    troubles = {at: b'{"trouble":"%s"}' % word for at, word in enumerate([b"a", b"b", b"c", b"c"])}
    keep(run, judge=judged(troubles))
    assert add_up(run).reasons == ("made O:0: a", "and 2 more reasons, in 3 states")


def test_trouble_of_ours_is_no_finding(run: Path) -> None:
    keep(run, judge=judged({2: b'{"trouble":"out of memory"}'}))
    assert add_up(run).findings == ()


def test_a_finding_has_its_witness_and_the_way_back(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(run, 1)
    keep(run, 2, judge=judged({5: seen(5, death="panic", tree=None), 6: seen(6, death="panic", tree=None)}))
    monkeypatch.chdir(run.parent)
    finding = next(one for one in add_up(run).findings if one.oracle == "mounts")
    assert (finding.experiment, finding.state, finding.count, finding.workloads) == (2, "O:5", 2, ("made",))
    assert finding.repro == f"./powercut repro {run.name} {finding.id}"


def test_the_witness_of_a_finding_is_one_that_is_not_known(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        keep(run, number, judge=judged({5: seen(5, death="panic", tree=None)}))
    asked = []

    def first_is_known(witness: Witness, signature: str) -> bool:
        asked.append(signature)
        return witness.experiment == 1

    assert {one.experiment for one in add_up(run).findings} == {1}
    monkeypatch.setattr("harness.evidence.summary.knows", lambda: first_is_known)
    assert {one.experiment for one in add_up(run).findings} == {2}
    assert "btrfs mounts: panic (filesystem)" in asked


def test_findings_are_numbered_in_a_fixed_order(run: Path) -> None:
    keep(run, 1, judge=judged({0: seen(0, probe=("creat x: EIO",)), **LOST}))
    first = add_up(run).findings
    assert [one.id for one in first] == [f"F{n}" for n in range(1, len(first) + 1)]
    assert {"durable", "usable"} <= {one.oracle for one in first}
    assert [one.signature for one in first] == sorted(one.signature for one in first)
    assert add_up(run).findings == first


def test_a_run_elsewhere_is_named_by_its_whole_path(run: Path, tmp_path_factory, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert shown(run) == str(run)


def test_half_done_experiments_do_not_count(run: Path) -> None:
    keep(run, 2)
    (run / "experiments/0001.partial").mkdir()
    assert [path.name for path in experiment_folders(run)] == ["0002"]


def test_a_damaged_experiment_is_told_not_passed_over(run: Path) -> None:
    (keep(run) / "history.json").write_text("{")
    with pytest.raises(NoResults, match="0001 is damaged"):
        add_up(run)


def test_a_failed_operation_is_named(run: Path) -> None:
    """With its workload and its error; it changed nothing, so it tested nothing."""
    keep(run, 1, judged({}))
    path = run / "experiments" / "0001" / "history.json"
    history = msgspec.json.decode(path.read_bytes(), type=History)
    failed = msgspec.structs.replace(history.run[0], result=-2)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(history, run=(failed, *history.run[1:]))))
    (told,) = sum_up(run, 1.0).failed_operations
    assert told.endswith("No such file or directory")


# --- crash models ---------------------------------------------------------------------------------

R = Coverage("R", places=4, whole=3, examined=20, space_bits=6.0)


def keep_models(run: Path, number: int = 1) -> Path:
    """O as ever; of three states of R one is BROKEN and one has the bytes of a prefix."""
    judge = judged()
    for spec, same_as, report in (
        (f"R:{ENTRY_COUNT}-2", "", seen(ENTRY_COUNT)),
        (f"R:{ENTRY_COUNT}-3", "", seen(0)),
        (f"R:{ENTRY_COUNT}-4", f"O:{ENTRY_COUNT}", seen(ENTRY_COUNT)),
    ):
        judge.add(Recovered(spec, ENTRY_COUNT, same_as, report))
    folder = keep(run, number, judge)
    facts = read_experiment(folder).facts
    facts = msgspec.structs.replace(facts, planned={"O": STATES, "R": 3}, coverage=(R,))
    (folder / "experiment.json").write_bytes(msgspec.json.encode(facts))
    return folder


def test_states_are_counted_by_model(run: Path) -> None:
    keep_models(run, 1)
    keep_models(run, 2)
    summary = add_up(run)
    assert summary.states.planned == 2 * (STATES + 3)
    assert summary.models["O"] == ModelCounts(planned=2 * STATES, checked=2 * STATES)
    both = Coverage("R", places=8, whole=6, examined=40, space_bits=7.0)
    assert summary.models["R"] == ModelCounts(6, 4, 2, broken=2, coverage=both)


def test_what_no_prefix_shows_says_what_it_takes_of_the_device(run: Path) -> None:
    keep_models(run)
    (finding,) = add_up(run).findings
    assert (finding.state, finding.models, finding.presumes) == (f"R:{ENTRY_COUNT}-3", ("R",), PRESUMES["R"])


@pytest.mark.parametrize(("models", "ids"), [(("R",), ("BTRFS-1",)), (("O",), ())])
def test_a_bug_that_other_models_show_is_another(
    run: Path, monkeypatch: pytest.MonkeyPatch, models: tuple[str, ...], ids: tuple[str, ...]
) -> None:
    keep_models(run)
    (finding,) = add_up(run).findings
    one = KnownBug(
        "BTRFS-1",
        (finding.kernel,),
        "btrfs",
        EVERYWHERE,
        (finding.signature.removeprefix("btrfs "),),
        models=models,
    )
    monkeypatch.setattr(named, "KNOWN", (one,))
    (finding,) = add_up(run).findings
    assert tuple(known.id for known in finding.known) == ids


def test_what_a_prefix_shows_too_takes_nothing(run: Path) -> None:
    keep_models(run, 1)
    keep(run, 2, judge=judged(LOST))
    (finding,) = add_up(run).findings
    assert (finding.state, finding.models, finding.presumes) == (f"O:{ENTRY_COUNT}", ("O", "R"), "")


def test_pages_and_files_for_ci_tell_the_models(run: Path) -> None:
    keep_models(run)
    question(run)
    write_summary(run, add_up(run))
    write_report(run)
    write_junit(run)
    write_ktap(run)
    index = (run / "report" / "index.html").read_text()
    assert "3 of 4 windows complete; 20 of 64 subsets" in index
    assert f"which requires {PRESUMES['R']}" in index
    assert ">✕ 1/3</span>" in index
    page = (run / "report" / "experiment-0001.html").read_text()
    assert "Model R, reordered" in page
    assert f'href="#state-R-{ENTRY_COUNT}-3"' in page
    assert f'id="state-R-{ENTRY_COUNT}-3"' in page
    finding = (run / "report" / "finding-F1.html").read_text()
    assert f"the first {ENTRY_COUNT} log entries without 3" in finding
    assert "no prefix of the log shows it" in finding
    assert "3 states, 1 BROKEN, 0 UNKNOWN" in (run / "junit.xml").read_text()
    assert f"# states by model: O {STATES} (0 BROKEN), R 3 (1 BROKEN)" in (run / "results.ktap").read_text()
    told = "\n".join(summary_lines(read_summary(run), read_question(run), Path("index.html")))
    assert f"O {STATES}; R 3, 1 BROKEN (3 of 4 windows complete)" in told
    assert "only in model R, which requires a volatile write cache" in told


def test_judging_again_keeps_every_model(run: Path) -> None:
    experiment = read_experiment(keep_models(run))
    again = judge_again(experiment, profile("btrfs"), Tier.FS)
    assert again == experiment.judgement
