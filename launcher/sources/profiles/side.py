"""One side of a profile: its keys, and where each is written."""

from __future__ import annotations

from dataclasses import field

from pd_launch.launcher.sources.profiles.load import LoadedProfile
from pd_launch.schemas.core.launch import Fault, ProfileSide
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, Origin
from pd_launch.schemas.profile import Profile, SideSection


@dataclass
class OneSide:
    """One side of a profile that is rendered for a target, and the places of its keys."""

    loaded: LoadedProfile
    profile: Profile
    side: ProfileSide
    section: SideSection
    target: Target
    single: bool = False
    faults: list[Fault] = field(default_factory=list)

    def layered(self, key: str, number: int) -> dict[str, Node]:
        """Return the entries of a section for both sides, with what this side and then this node say over them."""
        tree = self.loaded.tree
        sections = (tree.get(key), tree.get(self.side, key), tree.get("nodes", self.side, number, key))
        return {name: node for section in sections if section for name, node in section.items()}

    def fault(self, said: Msg, *path: str, help: Msg) -> None:
        """Say what is wrong at a path of this side."""
        self.faults.append(Fault("profile", self.at(*path).origin, said, help=help))

    def refuse(self, node: Node, said: Msg, help: Msg) -> None:
        """Say, once, that a key cannot be used."""
        fault = Fault("profile", node.key or node.origin, said, help=help)
        if fault not in self.faults:
            self.faults.append(fault)

    def at(self, *path: str, shared: bool = False) -> Node:
        """Return the node at a path of this side (or of the whole profile), or of the nearest key that is there.

        A nearest enclosing key stands for a default, and its place says so.
        """
        steps = list(path) if shared else [self.side, *path]
        found = self.loaded.tree.get(*steps)
        if found is not None:
            return found
        while steps:
            steps.pop()
            found = self.loaded.tree.get(*steps)
            if found is not None:
                break
        place = (found.key or found.origin) if found else self.loaded.tree.origin
        origin = Origin(place.file, place.line, place.column, place.end_line, place.end_column, "default")
        return Node(None, origin)

    def address(self, number: int) -> str | None:
        """Return the address of a node as the profile writes it."""
        nodes = getattr(self.profile.nodes, self.side)
        return nodes[number].address if number < len(nodes) else None
