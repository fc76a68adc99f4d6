"""Rules of family PD8: containers and cluster manifests."""
