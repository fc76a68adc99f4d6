"""From a profile to a running engine: prepared, checked, planned, started."""
