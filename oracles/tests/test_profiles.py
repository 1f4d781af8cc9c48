"""What a profile tells the agent."""

from oracles.profiles import profile


def test_the_agent_reads_the_overlay_from_the_options():
    """Before those of the filesystem below it, behind a colon."""
    assert profile("ext4-overlay").agent_options == "overlay=index=on,redirect_dir=on:"
    assert profile("ext4").agent_options == ""
