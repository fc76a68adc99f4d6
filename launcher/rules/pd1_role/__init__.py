"""Family PD1: Role and scheduler."""
