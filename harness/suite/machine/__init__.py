"""
The machine of the tests of real hardware: Debian 13 in QEMU, reached by ssh alone.
"""
