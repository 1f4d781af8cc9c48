"""Charts and time lines, as SVG."""
