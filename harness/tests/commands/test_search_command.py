"""`powercut search` refuses bad input before anything is built."""

import pytest

from harness.commands.main import main
from harness.tests.made_run import question


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fs", "btrfs,ext4"], "a search is on one profile"),
        (["--fs", "nofs"], "nofs"),
        (["--kernel", "6.12,7.2"], "a search is on one kernel"),
        (["no-such-workload"], "no-such-workload"),
        (["fault/*"], "none of these workloads can be changed"),
        (["--corpus", "nowhere"], "--corpus nowhere: there is no such folder"),
        (["--resume", "nowhere"], "nowhere is not the folder of a run"),
    ],
)
def test_bad_input_is_named(words, said, capsys, tmp_path, monkeypatch):
    """With exit status 2."""
    monkeypatch.chdir(tmp_path)
    assert main(["search", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--hours", "0"], ["--hours", "x"], ["--workloads", "0"], ["--guided", "--sampled"]]
)
def test_bad_numbers_are_refused(words, capsys):
    """By argparse."""
    with pytest.raises(SystemExit) as ended:
        main(["search", *words])
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_only_a_search_is_resumed(tmp_path, capsys):
    """A run says by which command it goes on."""
    question(tmp_path)
    assert main(["search", "--resume", str(tmp_path)]) == 2
    assert "made by powercut run" in capsys.readouterr().err
