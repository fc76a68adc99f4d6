"""Rules of family PD4: topology, devices, ports."""
