"""
A night for KCIDB, where the kernel's test systems report to: https://docs.kernelci.org/kcidb/.

In:       a Night; what this machine is called there.
Out:      kcidb.json: checkouts, builds, tests, issues and incidents, in version 5.3 of its schema.
Not here: sending it: `kcidb-submit`, or kci-dev, with the credentials that KernelCI gives.

Source: kcidb_io/schema/v05_03.py of kcidb-io 141, which validates what is written in a test
(reports/tests/test_nights.py). Its words: FAIL, the tested code is at fault; ERROR, the test could not be
done. A finding is an issue, and each experiment that shows it an incident. The version of an issue is the
night, so that what is learnt later is newer.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec

from reports.nights.results import ERROR, FAIL, GONE, PASS, Night, NightExperiment, NightFinding, NightKernel

NAME = "kcidb.json"
SCHEMA = {"major": 5, "minor": 3}
STATUS = {"HOLDS": PASS, "BROKEN": FAIL, "UNKNOWN": ERROR}
EXCERPT_MAX = 16384
Part = dict[str, Any]


def write_kcidb(folder: Path, night: Night, origin: str) -> None:
    """Errors: OSError."""
    aside = folder / f"{NAME}.tmp"
    aside.write_bytes(msgspec.json.format(msgspec.json.encode(kcidb(night, origin)), indent=2) + b"\n")
    aside.rename(folder / NAME)


def kcidb(night: Night, origin: str) -> Part:
    tested = [kernel for kernel in night.kernels if not kernel.skipped]
    shown = [one for one in night.findings if one.state != GONE]
    return {
        "version": SCHEMA,
        "checkouts": [checkout(night, kernel, origin) for kernel in tested],
        "builds": [build(night, kernel, origin) for kernel in tested if kernel.build],
        "tests": [test(night, one, origin) for one in night.experiments],
        "issues": [issue(night, one, origin) for one in shown],
        "incidents": [
            incident(night, one, experiment, origin)
            for one in shown
            for experiment in night.experiments
            if experiment.kernel == one.kernel and one.signature in experiment.findings
        ],
    }


def checkout(night: Night, kernel: NightKernel, origin: str) -> Part:
    made: Part = {
        "id": id_of(origin, night, kernel.name),
        "origin": origin,
        "tree_name": kernel.name,
        "start_time": time_of(night.started),
        "valid": bool(kernel.hash),
        "comment": clean(kernel.subject),
        "misc": {"tree": kernel.tree, "word": kernel.word},
    }
    if kernel.tree:
        made["git_repository_branch"] = kernel.branch
        made["git_repository_branch_tip"] = True
    if kernel.tree.startswith("https://"):  # the schema knows no other
        made["git_repository_url"] = kernel.tree
    if re.fullmatch(r"[0-9a-f]{40}", kernel.hash):
        made["git_commit_hash"] = kernel.hash
    if kernel.trouble and not kernel.hash:
        made["log_excerpt"] = clean(kernel.trouble)[:EXCERPT_MAX]
    return made


def build(night: Night, kernel: NightKernel, origin: str) -> Part:
    made: Part = {
        "id": id_of(origin, night, kernel.name),
        "checkout_id": id_of(origin, night, kernel.name),
        "origin": origin,
        "config_name": "powercut",
        "status": kernel.build,
    }
    if kernel.arch:
        made["architecture"] = kernel.arch
    if kernel.compiler:
        made |= {"compiler": clean(kernel.compiler), "duration": kernel.build_s}
    if kernel.trouble:
        made["log_excerpt"] = clean(kernel.trouble)[:EXCERPT_MAX]
    return made


def test(night: Night, one: NightExperiment, origin: str) -> Part:
    kernel = next(each for each in night.kernels if each.name == one.kernel)
    return {
        "id": test_id(origin, night, one),
        "build_id": id_of(origin, night, kernel.name),
        "origin": origin,
        "path": ".".join(["powercut", path_part(one.profile), path_part(one.workload)]),
        "status": STATUS[one.verdict],
        "duration": round(one.seconds, 3),
        "environment": {"comment": f"guest: {kernel.guest}"},
        "comment": f"{one.workload} on {one.profile}: {one.states} crash states",
        "misc": {"states": one.states, "reason": one.reason, "findings": list(one.findings)},
    }


def issue(night: Night, one: NightFinding, origin: str) -> Part:
    made: Part = {
        "id": issue_id(origin, one),
        "version": night.number,
        "origin": origin,
        "report_subject": clean(one.signature),
        "culprit": {"code": True, "tool": False, "harness": False},
        "categories": ["filesystem.crash_consistency"],
        "comment": clean(f"{one.signature}. Expected: {one.expected}. Found: {one.found}"),
    }
    learnt = {
        "state": one.state,
        "oracle": one.oracle,
        "crash_state": one.spec,
        "commit": one.culprit,
        "commit_words": one.culprit_words,
        "good": one.good,
        "bad": one.bad,
        "minimal": one.program,
        "known": ", ".join(one.known),
    }
    made["misc"] = {key: value for key, value in learnt.items() if value}
    return made


def incident(night: Night, one: NightFinding, experiment: NightExperiment, origin: str) -> Part:
    shown_in = test_id(origin, night, experiment)
    digest = hashlib.sha256(f"{issue_id(origin, one)} {shown_in}".encode()).hexdigest()[:16]
    return {
        "id": f"{origin}:{digest}",
        "origin": origin,
        "issue_id": issue_id(origin, one),
        "issue_version": night.number,
        "test_id": shown_in,
        "present": True,
    }


def id_of(origin: str, night: Night, kernel: str) -> str:
    """Of a checkout, and of its one build. The time tells machines of one origin apart."""
    return f"{origin}:{kernel}-{re.sub(r'[^0-9TZ]', '', night.started)}-{night.number}"


def test_id(origin: str, night: Night, one: NightExperiment) -> str:
    return f"{id_of(origin, night, one.kernel)}-{path_part(one.profile)}-{path_part(one.workload)}"


def issue_id(origin: str, one: NightFinding) -> str:
    """The same from night to night, since its first one."""
    digest = hashlib.sha256(f"{one.kernel} {one.signature} {one.first_night}".encode()).hexdigest()
    return f"{origin}:{digest[:16]}"


def path_part(name: str) -> str:
    """Dots part a path in KCIDB."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def time_of(utc: str) -> str:
    return utc.replace("Z", "+00:00")


def clean(words: str) -> str:
    return words.replace("\0", "")
