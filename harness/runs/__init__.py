"""Many experiments: the run, its workers, reruns of new findings, the cross-check."""
