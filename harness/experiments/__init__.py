"""One experiment of each kind, from recording to verdicts, and the interestingness test."""
