"""Makes profiles: from existing scripts and manifests, or from a few questions."""
