"""Which commands start an engine, and how its words become a launch: after wrappers, in containers, from --config."""
