"""What is done with a finding: show it again, make it small, export a program of it."""
