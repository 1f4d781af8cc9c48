"""Runs fstests' own `./check` in a guest."""
