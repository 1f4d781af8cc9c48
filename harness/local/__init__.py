"""The machine that we run on: environment, packages, scratch folders, progress."""
