"""
Crash models in words: how many states of each, and what share of all that is.

In:       a Coverage; the Summary's counts by model.
Out:      sentences for the terminal and the pages.
Not here: what the models are (oracles/spec.py), counting (digest.py, harness/evidence/summary.py).
"""

from reports.results import Coverage, ModelCounts


def coverage_words(coverage: Coverage | None) -> str:
    """ "43 of 54 windows complete; 6,887 of 2^19.6 subsets"."""
    if coverage is None:
        return "all"
    whole = f"{coverage.whole:,} of {coverage.places:,}"
    if coverage.model == "R":
        share = f"{coverage.examined:,} of {power_words(coverage.space_bits)} subsets"
        return f"{whole} windows complete; {share}"
    if coverage.model == "D":
        return f"{whole} blocks; {coverage.examined:,} of {coverage.space:,} damages"
    if coverage.model == "M":
        return f"{whole} cuts complete; {coverage.examined:,} of {coverage.space:,} states"
    if coverage.model == "O":
        return f"{whole} windows complete; {coverage.examined:,} of {coverage.space:,} disks"
    share = f"{coverage.examined:,} of {coverage.space:,} cuts"
    if coverage.model == "T":
        return f"{whole} writes complete; {share}, at {coverage.unit_bytes} B"
    return f"{whole} recoveries complete; {share}; {coverage.recorded:,} recorded, {coverage.places:,} differ"


def power_words(bits: float) -> str:
    """A number by its binary logarithm: written out while it is small."""
    return f"{round(2**bits):,}" if bits < 20 else f"2^{bits:.0f}"


def model_words(model: str, counts: ModelCounts) -> str:
    """ "R 6,494: 43 of 54 windows complete"."""
    broken = f", {counts.broken:,} BROKEN" if counts.broken else ""
    covered = f" ({coverage_words(counts.coverage).partition(';')[0]})" if counts.coverage else ""
    return f"{model} {counts.planned:,}{broken}{covered}"
