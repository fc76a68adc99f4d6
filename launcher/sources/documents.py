"""YAML, units of systemd, and texts for people: what holds documents of one form or another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pd_launch.launcher.sources.call import Group, extend
from pd_launch.launcher.sources.engine.found import Found, keep
from pd_launch.launcher.sources.engine.named import named_file
from pd_launch.launcher.sources.followed_profiles import ReadingProfiles
from pd_launch.launcher.sources.forms_table import may_hold_tree, tree_form
from pd_launch.launcher.sources.profiles.shipped import is_profile
from pd_launch.launcher.sources.text.chart import Bodies, not_filled, settle
from pd_launch.launcher.sources.text.kinds import is_object, may_be_yaml, opens_like_yaml
from pd_launch.launcher.sources.text.limits import NOT_PYTHON
from pd_launch.launcher.sources.text.templates import files_of, parts_of
from pd_launch.launcher.sources.trees.json_tree import strict_faults
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import Fault, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Text

if TYPE_CHECKING:
    from pd_launch.launcher.sources.followed_scripts import Scripts

_STARTS_VLLM = lazy_pattern(r"vllm", re.IGNORECASE)


class ReadingDocuments(ReadingProfiles):
    """Reads the documents of a file, each by its own form. What follows scripts is imported where there is one."""

    @cached_property
    def scripts(self) -> Scripts:
        """What follows the scripts of the call."""
        from pd_launch.launcher.sources.followed_scripts import Scripts

        return Scripts(self)

    def nested(self, found: Found) -> None:
        """Read the scripts that other forms hold, where there are any."""
        if found.nested or found.offered:
            self.scripts.nested(found)

    def is_prose(self, source: SourceFile) -> bool:
        """Whether a file whose name says nothing is a text for people."""
        from pd_launch.launcher.sources.engine.prose import is_prose

        return is_prose(source)

    def prose(self, source: SourceFile, group: Group) -> None:
        """Read what a text for people may let be run."""
        from pd_launch.launcher.sources.engine.prose import blocks_of, parts_of_prose
        from pd_launch.launcher.sources.forms.dockerfile import read as read_dockerfile
        from pd_launch.launcher.sources.python.file import read_python

        group.sources[source.path] = source
        for part in parts_of_prose(Text.verbatim(source, 0, len(source.text))):
            group.found.guess(part, keep)
        self.nested(group.found)
        for language, block in blocks_of(source):
            own = Found()
            if language == "python":
                read_python(block, own)
                own.faults[:] = [
                    fault for fault in own.faults if fault.kind != NOT_PYTHON
                ]  # an example is seldom whole
            elif language == "dockerfile":
                read_dockerfile(block, block, own)
            else:
                self.scripts.known_form(parse_yaml(block)[0], block, own)
            self.nested(own)
            own.guessed.append(block.origin(0, len(block.text)))
            group.found.take_guess(own)

    def unit(self, source: SourceFile, group: Group) -> None:
        """Read a unit of systemd with its drop-ins; one of these alone says nothing where its unit is there too."""
        from pd_launch.launcher.sources.engine.engines import drop_repeated
        from pd_launch.launcher.sources.forms.systemd import drop_ins, is_drop_in, read_unit

        group.sources[source.path] = source
        group.found.forms.add("systemd")
        beside = [] if self.inputs.separate else self.inputs.files
        more = drop_ins(source, beside)
        if not (is_drop_in(source) and any(drop_ins(unit, [source]) for unit in beside)):
            for variant in files_of(source):
                read = read_unit(variant, group.found, more, self.variables_file)
                group.sources.update({other.path: other for other in (*more, *read)})
            drop_repeated(group.found.nodes)
        self.nested(group.found)
        self.profiles(group.found)

    def variables_file(self, name: Text) -> SourceFile | None:
        """Return the file of variables that a unit names: one of this call, or one that may be opened."""
        if HOLE in name.value:
            return None
        given = self.templates.get(name.value.rpartition("/")[2])
        return given or named_file(name.value, name.source.path, self.inputs.max_size).source

    def yaml_file(self, source: SourceFile, group: Group) -> bool:
        """Read a YAML file of a known form; return whether the file is YAML at all."""
        named = source.path.endswith((".yaml", ".yml", ".json"))
        if not named and not (opens_like_yaml(source.text) or may_be_yaml(source.text) or may_hold_tree(source)):
            return False
        documents, faults = parse_yaml(source)
        shaped = any(isinstance(d.value, dict) or tree_form(d, source) is not None for d in documents)
        if not named and not shaped and not is_object(source.text):
            return False
        if source.path.endswith(".json") and not faults:
            faults = strict_faults(source)
        others = [tree for tree in documents if not is_profile(tree)]
        if len(others) < len(documents):
            self.profiles_in(source, documents, faults)
            others, faults = [tree for tree in others if tree.value is not None], []
            if not others:
                return True
        self.other_documents(others, faults, source, group)
        return True

    def other_documents(
        self, documents: Sequence[Node], faults: Sequence[Fault], source: SourceFile, group: Group
    ) -> None:
        """Read the documents of a YAML file that are no profiles, each by its own form."""
        own = Group(sources={source.path: source})
        self.elsewhere.add_maps(source, own.found)
        whole = self.scripts.known_form(documents, source, own.found)
        self.elsewhere.hold_back(source, own.found)
        self.nested(own.found)
        own.found.add_faults(self.of_template(source, documents, list(faults), own.found.nodes))
        own.sources.update({other.path: other for other in self.elsewhere.note(own.found)})
        self.profiles(own.found)
        sides = {node.side for node in own.found.nodes} & {"prefill", "decode"}
        if whole or len(sides) == 2 or self.inputs.separate:
            self.deployments.append(self.deployment(own))
        else:
            group.sources.update(own.sources)
            extend(group.found, own.found)

    def of_template(
        self, source: SourceFile, documents: Sequence[Node], faults: list[Fault], nodes: Sequence[NodeLaunch]
    ) -> list[Fault]:
        """Return the faults of a file of YAML; of a template, what its text cannot say before it is filled in is none.

        The arguments that different branches of it give an engine become one each.
        """
        parts = parts_of(source.text)
        bodies = Bodies.of(parts)
        for node in nodes if parts else ():
            settle(node, bodies, source)
        if not parts or documents or not faults:
            return faults
        return [not_filled(faults[0])] if _STARTS_VLLM.search(source.text) else []
