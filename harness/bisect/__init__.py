"""The commit that broke a promise, by `git bisect run`."""
