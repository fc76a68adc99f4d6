"""Whole folders: which of their files are looked at, as ``.gitignore`` and ``exclude`` say."""
