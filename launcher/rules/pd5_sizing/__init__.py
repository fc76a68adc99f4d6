"""Rules of family PD5: engine sizing."""
