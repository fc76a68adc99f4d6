"""Family PD0: Reading the input."""
