"""Reads engines' logs: is preemption offload active, and what happened to each preempted request."""
