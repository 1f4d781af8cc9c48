"""The oracles of devices that fail and of damaged disks."""
