"""For which release an engine is checked: what the input, its image or the installation says of it."""
