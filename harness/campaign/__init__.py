"""Campaigns: whole bounds of generated workloads, on many machines, with results that stay small."""
