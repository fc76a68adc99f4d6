"""Shell scripts, followed statement by statement and never executed."""
