"""The scheduler side of the offload connector, pure Python: no torch, no vLLM, so that it can be simulated."""
