"""Several engines on one node: started together, stopped together, nothing left behind.

Two processes keep each other: the *front* is the one that the user started, the *keeper* below it is the parent of the
engines. Whichever of the two is killed, the other one ends the engines; where both are, the kernel tells the engines.
"""

from pd_launch.launcher.supervise.front import supervise
from pd_launch.launcher.supervise.rank import Rank
from pd_launch.launcher.supervise.watch import Watch

__all__ = ["Rank", "Watch", "supervise"]
