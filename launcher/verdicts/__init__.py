"""What is said of an engine's preemption offload, whether its log or its running self was looked at."""
