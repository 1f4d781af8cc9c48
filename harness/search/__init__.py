"""Guided search: workloads are changed, and kept where they show something new."""
