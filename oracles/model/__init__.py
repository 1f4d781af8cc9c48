"""A filesystem in memory that remembers everything it ever was."""
