"""Secrets never appear in plans, reports or logs: which names hold them, where they are, and how they are masked."""
