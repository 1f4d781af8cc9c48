"""Machines reached by ssh: which there are, how they are reached, what is there, what we may write."""
