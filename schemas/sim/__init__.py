"""vLLM's scheduler in pure arithmetic: what a workload makes an engine do, step by step, without a model."""
