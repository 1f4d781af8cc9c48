"""Exported reproducers: shell, C, fstests."""
