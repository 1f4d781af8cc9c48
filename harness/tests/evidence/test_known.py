"""The table of known bugs names what there is."""

from harness.evidence.known import EVERYWHERE, KNOWN
from oracles.profiles import PROFILES, profile
from workloads.library import names
from workloads.programs import library


def test_every_known_bug_names_workloads_and_profiles_that_there_are():
    programs = {one.name for one in library()}
    assert {known.workload for known in KNOWN} <= {*names(), *programs, EVERYWHERE}
    assert {name for known in KNOWN for name in known.profiles} <= {one.name for one in PROFILES}
    assert all(profile(name).filesystem == known.filesystem for known in KNOWN for name in known.profiles)
