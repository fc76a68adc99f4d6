"""The profiles that come with pd-launch, as YAML files beside this one."""
