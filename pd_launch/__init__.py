"""pd-launch: check, render and launch the vLLM engines of a P/D-disaggregated deployment."""

__version__ = "0.1.0"
