"""Scripts, and the scripts that they and other forms hold, each followed with what surrounds it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from pd_launch.launcher.sources.call import Group
from pd_launch.launcher.sources.engine.around import NOTHING, Around, place_of
from pd_launch.launcher.sources.engine.engines import as_file, inside, read_command, surroundings
from pd_launch.launcher.sources.engine.found import Finish, Found, Nested, keep
from pd_launch.launcher.sources.engine.links import Links
from pd_launch.launcher.sources.engine.machines import same_host
from pd_launch.launcher.sources.engine.mounted import config_maps
from pd_launch.launcher.sources.engine.named import COMMAND_LINE
from pd_launch.launcher.sources.engine.requested import requested
from pd_launch.launcher.sources.engine.residue import left_of
from pd_launch.launcher.sources.engine.scripts_given import files_run, scripts_inside
from pd_launch.launcher.sources.engine.torn import put_together
from pd_launch.launcher.sources.engine.unfollowed import held_back, not_started, started_otherwise, unseen
from pd_launch.launcher.sources.file_faults import MAX_ENGINES, MAX_NESTED, read_often, too_deep
from pd_launch.launcher.sources.followed_profiles import ReadingProfiles
from pd_launch.launcher.sources.forms.lmcache_file import note_written, read_written
from pd_launch.launcher.sources.forms.online_dp import apart, join_group, read_online_dp, template_for, templates_of
from pd_launch.launcher.sources.forms_table import tree_form
from pd_launch.launcher.sources.given_files import read_given
from pd_launch.launcher.sources.release.installs import CommandLine
from pd_launch.launcher.sources.shell.follow import MAX_STEPS, Command, read_shell
from pd_launch.launcher.sources.shell.state import Effort, Scope
from pd_launch.launcher.sources.shell.weight import word_matters
from pd_launch.launcher.sources.text.interpolate import GIVEN, expand
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Node, SourceFile, Text

_VALUE = -3
"""Marks branches among those of engines in values of which a script runs one."""
_STARTS_VLLM = lazy_pattern(r"vllm", re.IGNORECASE)


class Scripts:
    """Follows the scripts of a call, and what they run."""

    def __init__(self, call: ReadingProfiles) -> None:
        self.call = call

    def known_form(self, documents: Sequence[Node], source: SourceFile, found: Found) -> bool:
        """Read documents of a known form; return whether the file is a deployment of its own."""
        from pd_launch.launcher.sources.forms.compose import is_compose, read_compose
        from pd_launch.launcher.sources.forms.e2e import is_e2e, read_e2e
        from pd_launch.launcher.sources.forms.manifest import is_manifest, read_manifest

        whole = False
        starts_vllm = bool(_STARTS_VLLM.search(source.text))  # once: there may be thousands of documents
        found.maps.update(named for tree in documents for named in config_maps(tree))
        for tree in documents:
            if is_compose(tree):
                found.forms.add("compose")
                read_compose(tree, source.path, found)
                whole = True
            elif is_e2e(tree):
                found.forms.add("e2e")
                read_e2e(tree, source.path, found)
                whole = True
            elif (form := tree_form(tree, source)) is not None and not (form.alone and self.call.is_elsewhere(source)):
                form.read(tree, source, found)
                whole = whole or form.whole
            elif is_manifest(tree):
                found.forms.add("manifest")
                held = len(found.nodes) + len(found.nested) + len(found.offered) + len(found.faults)
                read_manifest(tree, source.path, found)
                if starts_vllm and held == len(found.nodes) + len(found.nested) + len(found.offered) + len(
                    found.faults
                ):
                    from pd_launch.launcher.sources.forms.loose import read_texts_of

                    read_texts_of(tree, source.path, found)
            elif starts_vllm:
                from pd_launch.launcher.sources.forms.loose import read_loose

                read_loose(tree, source.path, found)
        return whole

    def nested(self, found: Found, depth: int = 1) -> None:
        """Read the scripts that other forms hold; what they start is completed by the form."""
        self.waiting(found, depth)
        alone, found.offered = found.offered, []
        found.nested += [Nested(item.script, keep) for item in alone if place_of(item.script) not in found.run]
        self.waiting(found, depth)

    def waiting(self, found: Found, depth: int) -> None:
        """Read the scripts that wait in ``found``, and those that they hold in turn."""
        while found.nested and depth <= MAX_NESTED:
            waiting, found.nested = found.nested, []
            for nested in waiting:
                self.script(nested.text, found, nested.scope(), nested.finish, depth, nested.around)
            depth += 1
        for nested in found.nested[:1]:
            found.add_faults([too_deep(nested.text.origin(0, 1))])
        found.nested = []

    def top_script(self, text: Text, group: Group) -> None:
        """Read a file that is a script, with the files that it reads itself."""
        before, others = len(group.found.nodes), set(self.call.sourced.opened)
        if text.source.path in self.call.sourced.within and not self.call.inputs.separate:
            return  # another script of the call has read it
        self.call.effort.opens, self.call.sourced.top = self.call.sourced, text.source.path
        self.script(text, group.found)
        self.call.sourced.alone[text.source.path] = group.found.nodes[before:]
        read = {
            path: file
            for path, file in self.call.sourced.opened.items()
            if path not in others or self.call.inputs.separate
        }
        group.sources.update(read)

    def script(
        self,
        text: Text,
        found: Found,
        scope: Scope | None = None,
        finish: Finish = keep,
        depth: int = 0,
        around: Around = NOTHING,
    ) -> None:
        """Follow a script and what it runs; ``finish`` completes each engine, ``depth`` scripts are around it."""
        if self.call.effort.again(text) and self.call.effort.repeats >= MAX_STEPS and word_matters(text.value):
            found.add_faults([read_often(text.origin(0, 1))])
            return
        script = read_shell(text, scope, self.call.effort)
        self.call.effort.opens = None  # a container, or another machine, has other files
        commands, torn = put_together(script.commands, script.faults)
        found.add_faults([*script.faults, *torn])
        before = len(found.nodes)
        run, links = files_run(commands), Links()
        for command in (links.followed(command) for command in commands):
            started = len(found.nodes)
            if read_command(command, "shell", text.source.path, found, finish):
                for node in found.nodes[started:]:
                    read_written(node, found.written, found)
                continue
            note_written(command, found)
            if read_given(command, found, self.known_form):
                continue
            so_far = found.size()
            found.add_faults(list(started_otherwise(command)))
            if depth == 0 and (asked := requested(command.words)) is not None:
                found.requests.append(asked)
            for inner, given in self.inner(command, around, found, run):
                if depth >= MAX_NESTED and word_matters(inner.value):
                    found.add_faults([too_deep(inner.origin(0, 1))])
                if depth >= MAX_NESTED:
                    continue
                self.script(inner, found, given, inside(command, finish), depth + 1, around)
            if so_far == found.size():
                left = left_of(command)
                found.add_faults([unseen(left.origin())] if left is not None else [])
        for number, value in enumerate(held_back(script.held, commands, found.nodes[before:])):
            if number >= MAX_ENGINES or depth >= MAX_NESTED or not self.value(value, number, found, finish, depth + 1):
                found.add_faults(list(not_started(value)))
            if number >= MAX_ENGINES:
                break
        if depth == 0:
            self.nested(found)
            self.call.profiles(found)

    def inner(
        self, command: Command, around: Around, found: Found, run: Collection[str]
    ) -> Iterator[tuple[Text, Scope | None]]:
        """Iterate over the scripts that a command runs: written in it, or a file of its container."""
        mounted = around.run_by(command.words)
        if mounted is not None:
            found.run.add(place_of(mounted.script))
            yield mounted.script, as_file(command, mounted, around)
        for script in scripts_inside(command, run):
            yield script, surroundings(command)

    def value(self, assigned: Text, number: int, found: Found, finish: Finish, depth: int) -> bool:
        """Read the value of an assignment as a script; of several values, one is run. Return whether it has engines."""

        def one_of_them(node: NodeLaunch) -> None:
            finish(node)
            node.branches = (*node.branches, (_VALUE, number))

        before, scope = len(found.nodes), Scope()
        read_shell(assigned, scope, self.call.effort)
        for value in list(scope.variables.values()):
            if isinstance(value, Text):
                self.script(value, found, None, one_of_them, depth)
        return len(found.nodes) > before

    def given_command(self, words: Sequence[str]) -> None:
        """Read the command after ``--``: each word is a text of its own in ``<command line>``."""
        texts = [Text.verbatim(SourceFile(COMMAND_LINE, word), 0, len(word)) for word in words]
        command = Command(expand(texts, GIVEN), {}, texts[0].origin(), env_open=texts[0].origin())
        found = self.call.together.found
        if not read_command(command, "command", COMMAND_LINE, found):
            found.add_faults(list(started_otherwise(command)))
            for inner in scripts_inside(command):
                self.script(inner, found)
        self.nested(found)
        self.call.profiles(found)
        self.call.together.sources[COMMAND_LINE] = CommandLine(COMMAND_LINE, words)

    def online_dp(self) -> None:
        """Bind the options of launch_online_dp.py to its template, where the call has it and it is known which."""
        found = self.call.together.found
        if not found.online_dp or self.call.inputs.separate:
            return
        templates = templates_of(self.call.inputs.unique())
        chosen = [template_for(options, templates) for options in found.online_dp]
        bound = {template.path for template in chosen if template is not None}
        found.nodes = [node for node in found.nodes if node.origin.file not in bound]
        for options, template, host in zip(found.online_dp, chosen, apart(found.online_dp), strict=True):
            if template is None:
                continue
            before = len(found.nodes)
            found.add_faults(list(read_online_dp(options, template, self.rank)))
            started = found.nodes[before:]
            for node in started if host is not None else ():
                node.host = host
            same_host(started, options[0].source.path if options else template.path)
            join_group(started, options)

    def rank(self, text: Text, scope: Scope) -> None:
        """Read a template for one rank."""
        self.call.effort = Effort()
        self.script(text, self.call.together.found, scope)
