"""The write log, the crash states it means, and the disk of each state."""
