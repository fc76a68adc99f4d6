"""What running engines do now, read from their own pages: ``pd-launch status``."""
