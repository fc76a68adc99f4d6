"""This host against a profile, or by itself."""
