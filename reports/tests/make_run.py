"""
A small made-up run on disk, for tests of the pages and for looking at them.

In:       a folder, and how much of it.
Out:      run.json, summary.json and experiments/ in it, as a run leaves them.
Not here: any truth about a filesystem; the trees and verdicts are invented.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import zstandard

from oracles.observation import Fsck, Node, Observation, Run
from oracles.verdict import Answer, Tier, Verdict, Violation
from reports import formats
from reports.results import (
    AnswerCounts,
    ExperimentFacts,
    Finding,
    JudgedState,
    Judgement,
    Question,
    StateCounts,
    Summary,
    read_question,
    read_summary,
)
from workloads.entries import EntryFlag, EntrySummary
from workloads.history import History, Step
from workloads.workload import Operation, Workload

ORACLES = (
    "mounts",
    "quiet",
    "fsck",
    "durable",
    "atomic",
    "historical",
    "ordered",
    "usable",
    "stable",
    "consistent",
)

REPLACE = """\
# Replace a file by rename, as editors and package managers do.
# guards: d4682ba03ef6 ("Btrfs: sync log after logging new name"); fstests generic/498
setup
  mkdir A
  write A/foo 0 8K
  sync
run
  write A/foo.tmp 0 8K
  fsync A/foo.tmp
  rename A/foo.tmp A/foo
  link A/nothing A/more
  fsync A
"""
LINK = """\
# A second name, then fsync of the first.
run
  creat foo
  mkdir A
  link foo A/bar
  fsync foo
"""
HOSTILE = """\
# A name that would like to be markup.
run
  write <script>alert(1)</script> 0 4K
  fsync <script>alert(1)</script>
"""
WORKLOADS = (
    ("replace-by-rename", "rename", REPLACE),
    ("link-new-name", "link", LINK),
    ("<b>name</b>", "link", HOSTILE),
)


def operation(line: str) -> Operation:
    """Just enough of the text form for the workloads above."""
    word, *arguments = line.split()
    path = arguments[0] if arguments else ""
    if word in ("link", "rename"):
        return Operation(word=word, path=path, path2=arguments[1])
    if word == "write":
        return Operation(word=word, path=path, offset=0, length=int(arguments[2].rstrip("K")) << 10)
    return Operation(word=word, path=path)


def operations(text: str, section: str) -> list[Operation]:
    found, inside = [], ""
    for line in text.splitlines():
        if not line.startswith((" ", "#")):
            inside = line
        elif inside == section and line.strip():
            found.append(operation(line))
    return found


def recording(
    name: str, theme: str, text: str, profile: str, repeats: int
) -> tuple[History, list[EntrySummary]]:
    """The workload as if it had been run `repeats` times over."""
    setup, run = operations(text, "setup"), operations(text, "run") * repeats
    entries: list[EntrySummary] = []
    steps = []
    for index, each in enumerate(run, start=len(setup)):
        begin = len(entries)
        entries.append(EntrySummary(EntryFlag.MARK, 0, 0, f"begin {index}"))
        if each.word in ("fsync", "sync"):
            entries += [EntrySummary(0, 30_000 + 16 * index, 16)]
            entries += [EntrySummary(EntryFlag.METADATA, 40_000 + 32 * n, 32) for n in range(3)]
            entries.append(EntrySummary(EntryFlag.FLUSH, 0, 0))
            entries.append(EntrySummary(EntryFlag.FUA | EntryFlag.METADATA, 128, 8))
        if each.word == "mkdir":
            entries.append(EntrySummary(EntryFlag.DISCARD, 90_000, 2048))
        result = -2 if "nothing" in each.path else 0
        steps.append(Step(index, each, result, begin, len(entries), inode=257))
        entries.append(EntrySummary(EntryFlag.MARK, 0, 0, f"end {index}"))
    entries.append(EntrySummary(EntryFlag.MARK, 0, 0, "dm-log-writes-end"))
    before = tuple(Step(index, each, 0) for index, each in enumerate(setup))
    workload = Workload(name, tuple(operations(text, "setup")), tuple(run), theme=theme)
    return History(workload, profile, "6.12", before, tuple(steps), len(entries), 256), entries


def tree(history: History, completed: int) -> tuple[Node, ...]:
    nodes = {".": Node(".", "dir", 256, 0o755, 1, 0, 0, dtype="dir")}
    for step in (*history.setup, *history.run[:completed]):
        each, ino = step.operation, 257 + len(nodes)
        if step.result < 0:
            continue
        if each.word == "mkdir":
            nodes[each.path] = Node(each.path, "dir", ino, 0o755, 1, 6, 0, dtype="dir")
        elif each.word in ("write", "creat"):
            runs = (Run(0, each.length, "w", stamp=step.index + 1),) if each.length else ()
            nodes[each.path] = Node(
                each.path, "file", ino, 0o644, 1, each.length, 16, dtype="file", content=runs
            )
        elif each.word == "rename" and each.path in nodes:
            nodes[each.path2] = msgspec.structs.replace(nodes.pop(each.path), path=each.path2)
        elif each.word == "link" and each.path in nodes:
            nodes[each.path] = msgspec.structs.replace(nodes[each.path], nlink=2)
            nodes[each.path2] = msgspec.structs.replace(nodes[each.path], path=each.path2)
    return tuple(nodes[path] for path in sorted(nodes))


LOST = Violation(
    kind="name lost",
    role="renamed file",
    subject="A/foo",
    expected="A/foo is there with the 8192 bytes of operation 3, because fsync A had returned",
    found="no name A/foo; the directory A is empty",
    promise="fsync of a directory makes its entries durable (fsync(2); fstests generic/498)",
    tier=Tier.FS,
)
PANIC = Violation(
    kind="kernel died",
    role="filesystem",
    subject=".",
    expected="recovery succeeds and the kernel survives it",
    found="kernel panic during mount",
    promise="a kernel survives every disk that its own writes could have left",
    tier=Tier.POSIX,
)
HOLDING = tuple(
    Verdict(name, Tier.FS, Answer.HOLDS, checked=0 if name == "ordered" else 4) for name in ORACLES
)
PANIC_LOG = (
    "6 BTRFS info (device ubdb): start tree-log replay",
    "2 BTRFS critical (device ubdb): corrupt leaf, slot <0>",
    "0 Kernel panic - not syncing: Fatal exception",
)


def with_verdict(
    oracle: str, answer: Answer, violation: Violation | None = None, reason: str = ""
) -> tuple[Verdict, ...]:
    broken = (violation,) if violation else ()
    verdict = Verdict(oracle, Tier.FS, answer, 4, broken, reason)
    return tuple(verdict if each.oracle == oracle else each for each in HOLDING)


UNSEEN = tuple(
    Verdict(name, Tier.FS, Answer.UNKNOWN, 0, (), "the guest gave no answer in 20 s, three times")
    for name in ORACLES
)
VERDICT_SETS = (
    HOLDING,
    with_verdict("durable", Answer.BROKEN, LOST),
    with_verdict("mounts", Answer.BROKEN, PANIC),
    UNSEEN,
)


def judged(history: History, profile: str, entry_count: int) -> tuple[Judgement, list[Observation]]:
    """btrfs replace-by-rename loses a name at its end; btrfs link panics once; ext4 link has one UNKNOWN."""
    name, states, observations = history.workload.name, [], []
    last_tree: tuple[Node, ...] | None = None
    for prefix in range(entry_count + 1):
        spec, answers = f"O:{prefix}", 0
        now = tree(history, history.completed_count(prefix))
        log = ("6 BTRFS info (device ubdb): start tree-log replay",) if profile == "btrfs" else ()
        seen = Observation(tree=now, probe_steps=12, kernel_log=log, fsck=Fsck(0, "no error found"))
        if profile == "btrfs" and name == "replace-by-rename" and prefix >= entry_count - 1:
            answers, seen = 1, msgspec.structs.replace(seen, tree=now[:2])
        if profile == "btrfs" and name == "link-new-name" and prefix == entry_count - 4:
            answers = 2
            seen = Observation(
                kernel_log=PANIC_LOG, death="panic", death_during="mount", console=("Kernel panic",)
            )
        if profile == "ext4" and name == "link-new-name" and prefix == 5:
            answers, seen = 3, Observation(trouble="the guest gave no answer in 20 s, three times")
        same = (
            bool(states) and answers == states[-1].verdict_set and seen.tree == last_tree and prefix % 3 != 0
        )
        if not same:
            observations.append(seen)
        same_as = (states[-1].same_as or states[-1].spec) if same else ""
        states.append(JudgedState(spec, same_as, len(observations) - 1, answers))
        last_tree = seen.tree
    return Judgement(tuple(states), VERDICT_SETS), observations


def write_experiment(
    folder: Path, number: int, workload: tuple[str, str, str], profile: str, repeats: int = 1
) -> Judgement:
    name, theme, text = workload
    history, entries = recording(name, theme, text, profile, repeats)
    judgement, observations = judged(history, profile, len(entries))
    if repeats > 1:
        text = text.partition("run\n")[0] + "run\n" + text.partition("run\n")[2] * repeats
    facts = ExperimentFacts(
        number=number,
        workload=name,
        theme=theme,
        profile=profile,
        kernel="6.12",
        tier="fs",
        entries=tuple(entries),
        device={"write_cache": "write back", "fua": "1"},
        seconds={"record": 0.4, "recover": 0.004 * len(judgement.states), "judge": 0.02},
    )
    folder.mkdir(parents=True)
    (folder / "workload").write_text(text)
    (folder / "history.json").write_bytes(msgspec.json.encode(history))
    write_judged(folder, facts, judgement)
    (folder / "observations.json.zst").write_bytes(packed(observations))
    return judgement


def write_judged(folder: Path, facts: ExperimentFacts, judgement: Judgement) -> None:
    (folder / "experiment.json").write_bytes(msgspec.json.encode(facts))
    (folder / "verdicts.json.zst").write_bytes(packed(judgement))


def packed(content: object) -> bytes:
    return zstandard.ZstdCompressor().compress(msgspec.json.encode(content))


def finding(
    number: int, *, violation: Violation, oracle: str, workload: str, experiment: int, state: str
) -> Finding:
    return Finding(
        id=f"F{number}",
        signature=f"btrfs {oracle}: {violation.kind} ({violation.role})",
        oracle=oracle,
        kind=violation.kind,
        role=violation.role,
        tier=violation.tier,
        profile="btrfs",
        kernel="6.12",
        workload=workload,
        experiment=experiment,
        state=state,
        subject=violation.subject,
        expected=violation.expected,
        found=violation.found,
        promise=violation.promise,
        count=2 if violation is LOST else 1,
        workloads=(workload,),
        repro=f"./powercut repro results/20250101T120000-ab12 F{number}",
    )


def answer_counts(judgements: Sequence[Judgement]) -> dict[str, AnswerCounts]:
    answers = [v for j in judgements for s in j.states for v in j.verdict_sets[s.verdict_set]]
    return {
        oracle: AnswerCounts(*(sum(v.oracle == oracle and v.answer == a for v in answers) for a in Answer))
        for oracle in ORACLES
    }


def make_run(run: Path, copies: int = 1, repeats: int = 1, good: bool = False) -> Path:
    """Two profiles, three workloads, `copies` of each: two findings, one UNKNOWN state, one panic.

    repeats: how often each workload's run part is done, to make long logs. good: without the
    workloads that break.
    """
    judgements, findings, facts = [], [], []
    chosen = [WORKLOADS[2]] if good else list(WORKLOADS)
    for copy in range(copies):
        for profile in ("btrfs", "ext4"):
            for workload in chosen:
                number = len(judgements) + 1
                folder = run / "experiments" / f"{number:04d}"
                judgement = write_experiment(folder, number, workload, profile, repeats)
                facts.append((number, workload[0], profile))
                judgements.append(judgement)
                for state in judgement.states:
                    if state.verdict_set in (1, 2) and copy == 0:
                        findings.append((state, workload[0], number))
    known, made = set(), []
    for state, name, number in findings:
        violation, oracle = ((LOST, "durable"), (PANIC, "mounts"))[state.verdict_set - 1]
        if oracle not in known:
            known.add(oracle)
            made.append(
                finding(
                    len(made) + 1,
                    violation=violation,
                    oracle=oracle,
                    workload=name,
                    experiment=number,
                    state=state.spec,
                )
            )
    states = [(s, j.verdict_sets[s.verdict_set]) for j in judgements for s in j.states]
    unknown = sum(any(v.answer is Answer.UNKNOWN for v in verdicts) for _, verdicts in states)
    same = sum(bool(state.same_as) for state, _ in states)
    summary = Summary(
        exit=1 if made else 0,
        experiments=len(judgements),
        states=StateCounts(len(states), len(states) - same - unknown, same, unknown),
        log_entries=len(states) - len(judgements),
        verdicts=answer_counts(judgements),
        findings=tuple(made),
        rates={"states_per_s": 212.4, "seconds": {"build": 1.2, "record": 2.1, "recover": 8.8, "judge": 0.3}},
        reasons=("ext4 link-new-name O:5: the guest gave no answer in 20 s, three times",) if unknown else (),
    )
    question = Question(
        command=("./powercut", "run", "--fs", "btrfs,ext4"),
        started="2025-01-01T12:00:00Z",
        powercut_commit="cd20f3b",
        powercut_version="0.2.0",
        seed=0,
        tier="fs",
        models=("O",),
        guest="uml",
        workloads=tuple(each[0] for each in chosen),
        kernels={
            "6.12": {
                "source": "linux-source-6.12 6.12.117-1",
                "series": [],
                "config": "sha256:4f1c",
                "compiler": "gcc 12.2.0",
            }
        },
        profiles={
            "btrfs": {
                "mkfs": "mkfs.btrfs",
                "mount_options": "",
                "size_bytes": 268435456,
                "mkfs_version": "6.2",
            },
            "ext4": {
                "mkfs": "mkfs.ext4 -q",
                "mount_options": "",
                "size_bytes": 268435456,
                "mkfs_version": "1.47.0",
            },
        },
        machine={"processor": "2 x 2.3 GHz", "memory_bytes": 4 << 30, "kernel": "6.1.0"},
        jobs=2,
    )
    write_asked(run, question, summary)
    return run


def write_asked(run: Path, question: Question, summary: Summary) -> None:
    (run / "run.json").write_bytes(msgspec.json.encode(question))
    (run / "summary.json").write_bytes(formats.encode("summary.json", summary))


def change_question(run: Path, **other: object) -> None:
    write_asked(run, msgspec.structs.replace(read_question(run), **other), read_summary(run))


def change_summary(run: Path, **other: object) -> Summary:
    """What it is now."""
    summary = msgspec.structs.replace(read_summary(run), **other)
    write_asked(run, read_question(run), summary)
    return summary
