"""The project's own speed, as ratios."""
