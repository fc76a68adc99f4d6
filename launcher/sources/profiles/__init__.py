"""A profile as an input form: read, validated, and rendered into the launches that it stands for."""
