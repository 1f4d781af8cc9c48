"""What a recovered filesystem was used for, and where the power failed again."""

from oracles.observation import After, Observation, Seen, Use, UseStep
from reports.text.use_words import use_lines

STEPS = (UseStep("make", "new", 24, 60001), UseStep("grow", "f", 8192, 61002), UseStep("remove", "new"))


def test_the_power_fails_behind_what_is_done():
    lines = use_lines(Observation(after=After(1, Seen((), Use(STEPS)))))
    assert lines[0] == "make new, 24 bytes; fsync"
    assert lines[1].startswith("---- the power fails again")
    assert [line.split()[0] for line in lines[2:]] == ["add", "remove"]


def test_behind_the_last_step_it_fails_in_none():
    lines = use_lines(Observation(after=After(3, Seen((), Use(STEPS)))))
    assert lines[-1] == "---- the power fails again ----"


def test_a_step_that_failed_says_so_and_other_models_have_none():
    failed = Use((UseStep("make", "new", 24, 60001, "fsync: EIO"),))
    assert use_lines(Observation(use=failed)) == ["make new, 24 bytes; fsync   # failed: fsync: EIO"]
    assert not use_lines(Observation())
