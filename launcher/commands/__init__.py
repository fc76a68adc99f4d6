"""What the commands do, one module each, with everything that ``--help`` must not import."""
