"""The language server: ``server`` speaks the protocol, ``desk`` decides what is checked when, ``worker`` checks."""
