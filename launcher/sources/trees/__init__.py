"""JSON and YAML with the place of every key, value and character."""
