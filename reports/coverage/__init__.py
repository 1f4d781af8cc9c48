"""Which source lines of a kernel ran, in which phase: as data, as lines, as a page."""
