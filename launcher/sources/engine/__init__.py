"""Which commands start an engine, and how its words become a launch: behind wrappers, in containers, from --config."""
