"""What fstests' own tests gave: data, words, the page."""
