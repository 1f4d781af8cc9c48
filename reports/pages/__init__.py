"""The HTML pages and their templates."""
