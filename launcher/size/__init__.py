"""How much host memory to configure: from a model, a layout, and the requests to park or the memory that there is."""
