"""From files to deployments: the form of each file by its structure, and which files belong together.

The reader of a form is imported when the form is met: most calls have one, and start the faster.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pd_launch.launcher import budget
from pd_launch.launcher.sources.engine.engines import (
    Finish,
    Followed,
    Found,
    Nested,
    as_file,
    drop_repeated,
    inside,
    into_containers,
    keep,
    read_command,
    surroundings,
)
from pd_launch.launcher.sources.engine.machines import name_machines, same_host
from pd_launch.launcher.sources.engine.mounted import NOTHING, Around, config_maps, place_of
from pd_launch.launcher.sources.engine.named import KINDS as UNREAD
from pd_launch.launcher.sources.engine.named import named_file, unread
from pd_launch.launcher.sources.engine.prose import is_named_prose, is_prose, parts_of_prose, yaml_blocks
from pd_launch.launcher.sources.engine.scripts_given import files_run, scripts_inside
from pd_launch.launcher.sources.engine.sourced_files import SourcedFiles
from pd_launch.launcher.sources.engine.torn import put_together
from pd_launch.launcher.sources.engine.unfollowed import held_back, not_started, started_otherwise
from pd_launch.launcher.sources.file_faults import (
    LARGER,
    LESS,
    LINE_ENDS,
    MAX_ENGINES,
    MAX_NESTED,
    NOT_CHECKED,
    carriage_returns,
    read_often,
    too_deep,
    too_many,
)
from pd_launch.launcher.sources.forms.elsewhere import Elsewhere
from pd_launch.launcher.sources.forms.online_dp import apart, join_group, read_online_dp, template_for, templates_of
from pd_launch.launcher.sources.forms.systemd import drop_ins, is_drop_in, is_unit, read_unit
from pd_launch.launcher.sources.forms_table import may_hold_tree, text_form, tree_form
from pd_launch.launcher.sources.given_files import read_given
from pd_launch.launcher.sources.no_engine import none_in, speaking
from pd_launch.launcher.sources.profiles.deployment import is_profile, profile_deployment
from pd_launch.launcher.sources.profiles.load import (
    COMMAND_LINE,
    LoadedProfile,
    beside_profile,
    shipped_profile,
    validate,
)
from pd_launch.launcher.sources.release.installs import CommandLine
from pd_launch.launcher.sources.release.release_words import FAULT as COMMENT
from pd_launch.launcher.sources.release.release_words import comment_above, comment_faults
from pd_launch.launcher.sources.release.targets import Given, choice_of, choose
from pd_launch.launcher.sources.shell.follow import MAX_STEPS, Command, read_shell
from pd_launch.launcher.sources.shell.state import Effort, Scope
from pd_launch.launcher.sources.shell.weight import word_matters
from pd_launch.launcher.sources.text.chart import Bodies, not_filled, settle
from pd_launch.launcher.sources.text.interpolate import GIVEN, expand
from pd_launch.launcher.sources.text.kinds import (
    is_large,
    is_object,
    is_python,
    is_script,
    may_be_yaml,
    opens_like_yaml,
)
from pd_launch.launcher.sources.text.limits import MAX_SIZE, not_followed
from pd_launch.launcher.sources.text.templates import files_of, parts_of
from pd_launch.launcher.sources.trees.json_tree import strict_faults
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import Deployment, Fault, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target, TargetError, parse_target
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Text

_VALUE = -3
"""Stands among the branches of engines in values of which a script runs one."""
_STARTS_VLLM = re.compile(r"vllm", re.IGNORECASE)


@dataclass
class Inputs:
    """What one call of ``check`` was given."""

    files: list[SourceFile]
    command: list[str] = field(default_factory=list)
    target: Target | None = None
    config: Target | None = None
    """The target of the configuration file, which counts behind what the input itself says."""
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


def read_texts(
    files: Mapping[str, str], target: str | None = None, host: dict[str, Any] | None = None, separate: bool = False
) -> list[Deployment]:
    """Return the deployments of files given as name and text."""
    sources = [SourceFile(name, text) for name, text in files.items()]
    wanted = parse_target(target) if target else None
    return read(Inputs(sources, target=wanted, host=host, separate=separate))


def read(inputs: Inputs) -> list[Deployment]:
    """Return the deployments of a call, as the contract says which files form one."""
    return _Call(inputs).read()


@dataclass
class _Group:
    """Files that are one deployment."""

    found: Found = field(default_factory=Found)
    sources: dict[str, SourceFile] = field(default_factory=dict)


class _Call:
    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.deployments: list[Deployment] = []
        self.together = _Group()
        self.effort = Effort()
        together = [] if inputs.separate else [s for s in inputs.unique() if not self.is_large(s)]
        self.elsewhere = Elsewhere(together)
        # Files of their own know each other by their places alone: another folder may have one of the same name.
        self.templates = {} if inputs.separate else {s.path.rpartition("/")[2]: s for s in inputs.files}

        self.sourced = SourcedFiles(self.templates, self.is_large, inputs.max_size)

    def read(self) -> list[Deployment]:
        files, part = self.inputs.unique(), self.inputs.part
        for source in files if part is None else files[part.start : part.stop]:
            self.within_budget(source)
        self.together.found.offered += self.elsewhere.left()
        elsewhere = self.sourced.counted_elsewhere()
        self.together.found.nodes = [node for node in self.together.found.nodes if id(node) not in elsewhere]
        self.nested(self.together.found)
        if self.inputs.command:
            self.given_command(self.inputs.command)
        self.online_dp()
        if self.together.sources:
            self.deployments.append(self.deployment(self.together))
        if self.inputs.quiet:
            self.deployments = list(speaking(self.deployments))
        elif part is None:
            self.report_empty()
        return self.deployments

    def within_budget(self, source: SourceFile) -> None:
        """Read a file, unless the time or the memory of the check is used up."""
        self.effort = Effort()
        try:
            budget.look()
            with budget.interruptible():
                self.file(source)
        except budget.Spent as spent:
            self.left_out(source, not_followed(source.origin(0, 0), spent.limit, NOT_CHECKED, LESS))

    def left_out(self, source: SourceFile, fault: Fault) -> None:
        """Take in a file that is not checked, with what says so."""
        group = _Group() if self.inputs.separate else self.together
        group.sources[source.path] = SourceFile(source.path, "")  # nothing looks at its text
        group.found.add_faults([fault])
        if self.inputs.separate:
            self.deployments.append(self.deployment(group))

    def is_large(self, source: SourceFile) -> bool:
        """Whether a file is not read as it is too large."""
        return source.path in self.inputs.large or is_large(source, self.inputs.max_size)

    def file(self, source: SourceFile) -> None:
        if self.is_large(source):
            size = human_size(self.inputs.max_size)
            limit = Msg(f"larger than {size}", f"大于 {size}")
            self.left_out(source, not_followed(source.origin(0, 0), limit, NOT_CHECKED, LARGER))
            return
        group = _Group() if self.inputs.separate else self.together
        if "\0" in source.text:
            group.sources[source.path] = source
            group.found.faults.append(
                Fault("unreadable", source.origin(0, 0), Msg("this file is no text", "这个文件不是文本文件"))
            )
        elif is_python(source):
            from pd_launch.launcher.sources.python.file import read_python

            group.sources[source.path] = source
            group.found.forms.add("python")
            read_python(source, group.found)
            self.nested(group.found)
        elif is_unit(source):
            self.unit(source, group)
        elif is_named_prose(source):
            self.prose(source, group)
        elif (form := text_form(source)) is not None:
            group.sources[source.path] = source
            form.read(source, source, group.found)
            self.nested(group.found)
            self.profiles(group.found)
        elif self.yaml_file(source, group):
            pass
        elif is_prose(source):
            self.prose(source, group)
        else:
            group.sources[source.path] = source
            before = len(group.found.nodes)
            whole = Text.verbatim(source, 0, len(source.text))
            self.top_script(whole, group)
            same_host(group.found.nodes[before:], source.path)
            if "\r\n" in source.text and (len(group.found.nodes) > before or is_script(source)):
                group.found.faults.append(carriage_returns(whole))
        if self.inputs.separate and group.sources:
            self.deployments.append(self.deployment(group))

    def prose(self, source: SourceFile, group: _Group) -> None:
        """Read what a text for people may let be run."""
        group.sources[source.path] = source
        for part in parts_of_prose(Text.verbatim(source, 0, len(source.text))):
            group.found.guess(part, keep)
        self.nested(group.found)
        for block in yaml_blocks(source):
            documents, _ = parse_yaml(block)
            own = Found()
            self.known_form(documents, block, own)
            self.nested(own)
            own.guessed.append(block.origin(0, len(block.text)))
            group.found.take_guess(own)

    def unit(self, source: SourceFile, group: _Group) -> None:
        """Read a unit of systemd with its drop-ins; one of these alone says nothing where its unit is there too."""
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

    def yaml_file(self, source: SourceFile, group: _Group) -> bool:
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
        self, documents: Sequence[Node], faults: Sequence[Fault], source: SourceFile, group: _Group
    ) -> None:
        """Read the documents of a YAML file that are no profiles, each by its own form."""
        own = _Group(sources={source.path: source})
        self.elsewhere.add_maps(source, own.found)
        whole = self.known_form(documents, source, own.found)
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
            _extend(group.found, own.found)

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
            elif (form := tree_form(tree, source)) is not None and not (form.alone and self.is_elsewhere(source)):
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

    def is_elsewhere(self, source: SourceFile) -> bool:
        """Whether a file counts only where another one names it: one of the call does, or it was met in a folder."""
        if self.inputs.quiet and self.inputs.separate:
            return True
        name = source.path.rpartition("/")[2]
        return any(name in other.text for other in self.inputs.files if other.path != source.path) or any(
            name in word for word in self.inputs.command
        )

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

    def top_script(self, text: Text, group: _Group) -> None:
        """Read a file that is a script, with the files that it reads itself."""
        before, others = len(group.found.nodes), set(self.sourced.opened)
        if text.source.path in self.sourced.within and not self.inputs.separate:
            return  # another script of the call has read it
        self.effort.opens, self.sourced.top = self.sourced, text.source.path
        self.script(text, group.found)
        self.sourced.alone[text.source.path] = group.found.nodes[before:]
        read = {path: file for path, file in self.sourced.opened.items() if path not in others or self.inputs.separate}
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
        if self.effort.again(text) and self.effort.repeats >= MAX_STEPS and word_matters(text.value):
            found.add_faults([read_often(text.origin(0, 1))])
            return
        script = read_shell(text, scope, self.effort)
        self.effort.opens = None  # a container, or another machine, has other files
        commands, torn = put_together(script.commands, script.faults)
        found.add_faults([*script.faults, *torn])
        before = len(found.nodes)
        run = files_run(commands)
        for command in commands:
            if read_command(command, "shell", text.source.path, found, finish):
                continue
            if read_given(command, found, self.known_form):
                continue
            found.add_faults(list(started_otherwise(command)))
            for inner, given in self.inner(command, around, found, run):
                if depth >= MAX_NESTED and word_matters(inner.value):
                    found.add_faults([too_deep(inner.origin(0, 1))])
                if depth >= MAX_NESTED:
                    continue
                self.script(inner, found, given, inside(command, finish), depth + 1, around)
        for number, value in enumerate(held_back(script.held, commands, found.nodes[before:])):
            if number >= MAX_ENGINES or depth >= MAX_NESTED or not self.value(value, number, found, finish, depth + 1):
                found.add_faults(list(not_started(value)))
            if number >= MAX_ENGINES:
                break
        if depth == 0:
            self.nested(found)
            self.profiles(found)

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
        read_shell(assigned, scope, self.effort)
        for value in list(scope.variables.values()):
            if isinstance(value, Text):
                self.script(value, found, None, one_of_them, depth)
        return len(found.nodes) > before

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
        faults = [*faults, *beside_profile(documents)]
        for tree in documents:
            if is_profile(tree):
                self.profile(validate(source, tree, faults), given)
                faults = []

    def profile(self, loaded: LoadedProfile, given: Given | None = None) -> None:
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
        if self.inputs.separate:
            return set()  # what is said of a file depends on no other
        return {path for deployment in self.deployments for path in deployment.sources}

    def online_dp(self) -> None:
        """Bind the options of launch_online_dp.py to its template, where the call has it and it is known which."""
        found = self.together.found
        if not found.online_dp or self.inputs.separate:
            return
        templates = templates_of(self.inputs.unique())
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
        self.effort = Effort()
        self.script(text, self.together.found, scope)

    def given_command(self, words: Sequence[str]) -> None:
        """Read the command behind ``--``: each word is a text of its own in ``<command line>``."""
        texts = [Text.verbatim(SourceFile(COMMAND_LINE, word), 0, len(word)) for word in words]
        command = Command(expand(texts, GIVEN), {}, texts[0].origin(), env_open=texts[0].origin())
        found = self.together.found
        if not read_command(command, "command", COMMAND_LINE, found):
            for inner in scripts_inside(command):
                self.script(inner, found)
        self.nested(found)
        self.profiles(found)
        self.together.sources[COMMAND_LINE] = CommandLine(COMMAND_LINE, words)

    def deployment(self, group: _Group) -> Deployment:
        found = group.found
        into_containers(found)
        name_machines(found.nodes)
        for node in found.nodes:
            if node.arg("config") is None:
                continue
            from pd_launch.launcher.sources.engine.config_file import read_config_file

            source, faults = read_config_file(node, self.templates, self.inputs.max_size)
            if source is not None:
                group.sources.setdefault(source.path, source)
            found.add_faults(faults)
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
        )

    def report_empty(self) -> None:
        """Say that no input of the call holds an engine, where nothing else explains it."""
        if any(
            d.nodes or any(fault.kind not in (*UNREAD, LINE_ENDS, COMMENT) for fault in d.faults)
            for d in self.deployments
        ):
            return
        for deployment in self.deployments:
            deployment.faults += [none_in(source) for source in deployment.sources.values()]


def _extend(found: Found, more: Found) -> None:
    found.idle += more.idle
    found.nodes += more.nodes
    found.proxies += more.proxies
    found.add_faults(more.faults)
    found.forms |= more.forms
    found.guessed += more.guessed
    found.apart += more.apart
