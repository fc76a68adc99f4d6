"""Values with their places, launches, targets, units: what everything else is written in."""
