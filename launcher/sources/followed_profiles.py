"""Profiles: those among the files of a call, and those that a command of theirs names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pd_launch.launcher.sources.call import Call
from pd_launch.launcher.sources.engine.found import Followed, Found
from pd_launch.launcher.sources.engine.named import named_file, unread
from pd_launch.launcher.sources.profiles.shipped import is_profile, shipped_profile
from pd_launch.launcher.sources.release.release_words import comment_above
from pd_launch.launcher.sources.release.targets import Given
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import TargetError, parse_target
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Text

if TYPE_CHECKING:
    from pd_launch.launcher.sources.profiles.load import LoadedProfile


class ReadingProfiles(Call):
    """Reads profiles. What reads them is imported where there is one: a script needs none of it."""

    def profiles(self, found: Found) -> None:
        """Follow ``pd-launch decode --profile X``: a file of the call, or a shipped profile."""
        for followed in found.profiles:
            name = followed.name
            source = self.templates.get(name.value.rpartition("/")[2]) or self.named_profile(name, found)
            if source is None:
                continue
            documents, faults = parse_yaml(source)
            self.profiles_in(source, documents, faults, self.said_of(followed))
        found.forms |= {"profile"} if found.profiles else set()
        found.profiles = []

    def said_of(self, followed: Followed) -> Given:
        """Return what is given for a profile that a command names: its own --target, and a comment above it."""
        given, name = self.inputs.given, followed.name
        if followed.target is not None and given.option is None:
            with suppress(TargetError):  # it is not known, or refused when it is started
                given = replace(given, option=parse_target(followed.target.value))
        mention = comment_above(name.source, name.origin().line)
        return replace(given, comment=mention.target if mention is not None else None)

    def profiles_in(
        self, source: SourceFile, documents: Sequence[Node], faults: Sequence[Fault], given: Given | None = None
    ) -> None:
        """Read the profiles among the documents of a file; a profile should be the only one, and one beside it is said.

        A script that was read before may have named the file, which is then not read again.
        """
        if source.path in self.seen_profiles():
            return
        from pd_launch.launcher.sources.profiles.load import beside_profile, validate

        faults = [*faults, *beside_profile(documents)]
        for tree in documents:
            if is_profile(tree):
                self.profile(validate(source, tree, faults), given)
                faults = []

    def profile(self, loaded: LoadedProfile, given: Given | None = None) -> None:
        """Take in a profile as a deployment of its own."""
        from pd_launch.launcher.sources.profiles.deployment import profile_deployment

        deployment = profile_deployment(loaded, given or self.inputs.given, self.inputs.host)
        deployment.require_target = self.inputs.require_target
        self.deployments.append(deployment)

    def named_profile(self, name: Text, found: Found) -> SourceFile | None:
        """Return the profile that an input names, where it may be opened; else say why it is not, or nothing."""
        if HOLE in name.value:
            return None
        named = named_file(name.value, name.source.path, self.inputs.max_size)
        if named.refused is not None:
            fault = unread(Msg("the profile", "配置文件"), name, named.refused)
            found.faults += [fault] if fault not in found.faults else []
        return named.source or (None if named.refused else shipped_profile(name.value))

    def seen_profiles(self) -> set[str]:
        """Return the files that were read as profiles, or beside one."""
        if self.inputs.separate:
            return set()  # what is said of a file depends on no other
        return {path for deployment in self.deployments for path in deployment.sources}
