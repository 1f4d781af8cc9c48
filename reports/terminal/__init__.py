"""The last lines of a command."""
