"""Facts of this machine or container. What cannot be read is left out, never guessed."""

from pd_launch.launcher.host.contract import FACTS, FactsError, read_facts, unknown_keys
from pd_launch.launcher.host.gather import all_facts, host_facts
from pd_launch.launcher.host.memory import cgroup_memory
from pd_launch.launcher.host.network import addresses, default_interface

__all__ = [
    "FACTS",
    "FactsError",
    "addresses",
    "all_facts",
    "cgroup_memory",
    "default_interface",
    "host_facts",
    "read_facts",
    "unknown_keys",
]
