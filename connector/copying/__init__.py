"""Copies between the device cache and the host pool: one interface, one module per backend."""
