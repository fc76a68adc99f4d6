"""Rules of family PD7: environment variables."""
