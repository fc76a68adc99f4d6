"""Family PD2: Connectors."""
