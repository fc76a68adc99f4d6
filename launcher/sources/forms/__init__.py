"""Compose files, manifests, units, test descriptions: one module per form, each gives the engines that it starts."""
