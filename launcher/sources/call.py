"""What one call was given and has found so far, and how files become a deployment."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pd_launch.launcher.sources.engine.found import Found, into_containers
from pd_launch.launcher.sources.engine.machines import name_machines
from pd_launch.launcher.sources.engine.sourced_files import SourcedFiles
from pd_launch.launcher.sources.file_faults import MAX_ENGINES, too_many
from pd_launch.launcher.sources.forms.elsewhere import Elsewhere
from pd_launch.launcher.sources.release.release_words import comment_faults
from pd_launch.launcher.sources.release.targets import Given, choice_of, choose
from pd_launch.launcher.sources.shell.state import Effort
from pd_launch.launcher.sources.text.kinds import is_large
from pd_launch.launcher.sources.text.limits import MAX_SIZE
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import SourceFile, Text


@dataclass
class Inputs:
    """What one call of ``check`` was given."""

    files: list[SourceFile]
    command: list[str] = field(default_factory=list)
    target: Target | None = None
    config: Target | None = None
    """The target of the configuration file, which counts after what the input itself says."""
    require_target: bool = False
    """Whether an engine whose release nothing decides is an error."""
    host: dict[str, Any] | None = None
    separate: bool = False
    max_size: int = MAX_SIZE
    """Bytes of a file, or of one document of a YAML file, that are read."""
    large: frozenset[str] = frozenset()
    """Files of ``files`` that were too large even to be held."""
    installed: Target | None = None
    """The build that this machine has installed, where it counts."""
    part: range | None = None
    """Which of the files are read, where others read the rest; they may still be named by these."""
    quiet: bool = False
    """Whether nothing is said of files that hold no engine, and of a call without any."""

    @property
    def given(self) -> Given:
        """What decides the release beside the input."""
        return Given.of(self.target, self.config, self.host, self.installed)

    def unique(self) -> list[SourceFile]:
        """Return the files, each path once."""
        return list({source.path: source for source in self.files}.values())


@dataclass
class Group:
    """Files that are one deployment."""

    found: Found = field(default_factory=Found)
    sources: dict[str, SourceFile] = field(default_factory=dict)


class Call:
    """What a call was given, and what has been read of it; what reads more of it builds on this."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.deployments: list[Deployment] = []
        self.together = Group()
        self.effort = Effort()
        together = [] if inputs.separate else [s for s in inputs.unique() if not self.is_large(s)]
        self.elsewhere = Elsewhere(together)
        # Files of their own know each other by their places alone: another folder may have one of the same name.
        self.templates = {} if inputs.separate else {s.path.rpartition("/")[2]: s for s in inputs.files}

        self.sourced = SourcedFiles(self.templates, self.is_large, inputs.max_size)

    def is_large(self, source: SourceFile) -> bool:
        """Whether a file is not read as it is too large."""
        return source.path in self.inputs.large or is_large(source, self.inputs.max_size)

    def is_elsewhere(self, source: SourceFile) -> bool:
        """Whether a file counts only where another one names it: one of the call does, or it was met in a folder."""
        if self.inputs.quiet and self.inputs.separate:
            return True
        name = source.path.rpartition("/")[2]
        return any(name in other.text for other in self.inputs.files if other.path != source.path) or any(
            name in word for word in self.inputs.command
        )

    def deployment(self, group: Group) -> Deployment:
        """Return the files of a group as one deployment."""
        found = group.found
        into_containers(found)
        if found.services:
            from pd_launch.launcher.sources.forms.services import send_requests

            send_requests(found.services, found.pods)
        name_machines(found.nodes)
        files: dict[str, SourceFile | Text] = {**found.written, **self.templates}
        for node in found.nodes:
            if node.arg("config") is None:
                continue
            from pd_launch.launcher.sources.engine.config_file import read_config_file

            source, faults = read_config_file(node, files, self.inputs.max_size)
            if source is not None:
                group.sources.setdefault(source.path, source)
            found.add_faults(faults)
        if any("LMCACHE_CONFIG_FILE" in node.env for node in found.nodes):
            from pd_launch.launcher.sources.forms.lmcache_file import read_named

            for source in read_named(found.nodes, self.templates, self.inputs.max_size):
                group.sources.setdefault(source.path, source)
        if len(found.nodes) > MAX_ENGINES:
            found.add_faults([too_many(found.nodes[MAX_ENGINES])])
            del found.nodes[MAX_ENGINES:]
        for source in group.sources.values():
            found.add_faults(comment_faults(source))
        given = self.inputs.given
        for node in found.nodes:
            node.choice = choose(node, group.sources, given)
        choice = choice_of(found.nodes, group.sources, given)
        target = choice.leads[0]
        return Deployment(
            target,
            found.nodes,
            found.faults,
            group.sources,
            found.proxies,
            self.inputs.host,
            target.is_ascend,
            found.forms,
            choice,
            require_target=self.inputs.require_target,
            guessed=found.guessed,
            requests=found.requests,
        )


def extend(found: Found, more: Found) -> None:
    """Take what one more file holds into what is found."""
    found.idle += more.idle
    found.nodes += more.nodes
    found.proxies += more.proxies
    found.requests += more.requests
    found.services += more.services
    found.pods += more.pods
    found.add_faults(more.faults)
    found.forms |= more.forms
    found.guessed += more.guessed
    found.apart += more.apart
    found.written |= more.written
