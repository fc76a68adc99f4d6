"""ConfigMaps of one file that pods in another file of the same call mount."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.launcher.sources.engine.around import Offered, Place, place_of
from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.text.per_file import per_file
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.values import Node, SourceFile

_MOUNTS, _HOLDS = "configMap", "ConfigMap"


class Elsewhere:
    """What the files of a call, which belong together, know of each other's ConfigMaps."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self._files = files
        self._waiting: list[Offered] = []
        self._run: set[Place] = set()

    def add_maps(self, source: SourceFile, found: Found) -> None:
        """Add the ConfigMaps of the other files, where ``source`` mounts any."""
        if _MOUNTS not in source.text:
            return
        for other in self._files:
            if other is not source and _HOLDS in other.text:
                for name, data in _maps(other):
                    found.maps.setdefault(name, data)

    def hold_back(self, source: SourceFile, found: Found) -> None:
        """Take the scripts out of ``found`` that another file may mount: whether it does is known after them all."""
        others = [other.text for other in self._files if other is not source and _MOUNTS in other.text]
        waiting = [item for item in found.offered if item.name and any(item.name in text for text in others)]
        found.offered = [item for item in found.offered if item not in waiting]
        self._waiting += waiting

    def note(self, found: Found) -> list[SourceFile]:
        """Note which scripts a file runs; return the files that these, and its variables, are in."""
        self._run |= found.run
        files = {path for path, _ in found.run}
        files |= {variable.value.origin.file for node in found.nodes for variable in node.env.values()}
        return [source for source in self._files if source.path in files]

    def left(self) -> list[Offered]:
        """Return the scripts that were held back and that no file runs."""
        return [item for item in self._waiting if place_of(item.script) not in self._run]


@per_file
def _maps(source: SourceFile) -> list[tuple[str, Node]]:
    from pd_launch.launcher.sources.engine.mounted import config_maps

    documents, _ = parse_yaml(source)
    return [named for tree in documents for named in config_maps(tree)]
