"""Nights: branches watched, run and compared with the nights before."""
