"""The documents: the parts of them that are generated, their links, and the commands that they show."""
