"""Words and figures that pages, terminal and CI files share."""
