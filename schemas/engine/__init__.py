"""What the arguments of one launch mean: connectors, schedulers, speculation, devices, ports, sides."""
