"""Measurements, and the instruments they and the demo load into a running engine."""
