"""
Verdicts on one state, as text for the terminal.

In:       verdicts.
Out:      lines.
Not here: showing the state again (repro.py, repro_live.py), the pages (reports/).
"""

from oracles.verdict import Verdict


def verdict_lines(verdicts: tuple[Verdict, ...]) -> list[str]:
    """An empty line, then each verdict with the promises that it found broken."""
    lines = ["", "verdicts:"]
    for verdict in verdicts:
        lines.append(f"    {verdict.oracle:<11} {verdict.answer} {verdict.reason}".rstrip())
        for violation in verdict.violations:
            lines += [
                f"        {violation.kind} ({violation.role}): {violation.subject}",
                f"          expected: {violation.expected}",
                f"          found:    {violation.found}",
                f"          promise:  {violation.promise} [tier {violation.tier}]",
            ]
    return lines
