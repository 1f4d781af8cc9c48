"""Results of a guided search."""
