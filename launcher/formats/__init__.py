"""The forms in which ``--dry-run`` prints a launch for others to run: shells, containers, clusters, systemd."""
