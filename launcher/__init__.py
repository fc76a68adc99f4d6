"""What pd-launch does: read, check, render, launch."""
