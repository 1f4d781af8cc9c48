"""Nights of `powercut nightly`, as data and as lines."""
