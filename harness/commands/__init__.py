"""One file for each command of the command line: its arguments, what it calls, its exit status."""
