"""What is raised where scripts cannot be read; apart from what reads them, so that others can name it."""


class ShellUnavailable(Exception):
    """The parser for shell scripts is not installed; the message says how to get it."""
