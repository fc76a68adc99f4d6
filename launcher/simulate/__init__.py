"""How many preemptions a workload causes, what they cost, and which budget ends them."""
