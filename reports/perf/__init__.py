"""The answers of performance experiments: tables, pages, the block for a commit message."""
