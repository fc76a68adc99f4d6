"""Rules of family PD6: both sides."""
