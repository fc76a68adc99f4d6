"""From files to deployments: the form of each file by its structure, and which files belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pd_launch.launcher.render import render
from pd_launch.launcher.sources.engines import Found, read_command, scripts_inside
from pd_launch.launcher.sources.profile import COMMAND_LINE, LoadedProfile, validate
from pd_launch.launcher.sources.shell import Command, read_shell
from pd_launch.launcher.sources.yaml_tree import parse_yaml
from pd_launch.launcher.targets import decide, is_ascend
from pd_launch.schemas.launch import Deployment, Fault
from pd_launch.schemas.target import Target, newest, parse_target
from pd_launch.schemas.values import Node, SourceFile, Text

MAX_NESTED = 4


@dataclass
class Inputs:
    """What one call of ``check`` was given."""

    files: list[SourceFile]
    command: list[str] = field(default_factory=list)
    target: Target | None = None
    host: dict[str, Any] | None = None
    separate: bool = False


def read_texts(
    files: Mapping[str, str], target: str | None = None, host: dict[str, Any] | None = None, separate: bool = False
) -> list[Deployment]:
    """Return the deployments of files given as name and text."""
    sources = [SourceFile(name, text) for name, text in files.items()]
    wanted = parse_target(target) if target else None
    return read(Inputs(sources, target=wanted, host=host, separate=separate))


def read(inputs: Inputs) -> list[Deployment]:
    """Return the deployments of a call. A profile is one of its own; scripts together are one."""
    deployments: list[Deployment] = []
    together = _Collected()
    for source in inputs.files:
        collected = _Collected() if inputs.separate else together
        own = _read_file(source, collected, inputs)
        if own is not None:
            deployments.append(own)
        elif inputs.separate:
            deployments.append(_deployment(collected, inputs))
    if inputs.command:
        _read_given_command(inputs.command, together)
    if together.sources or together.found.nodes:
        deployments.append(_deployment(together, inputs))
    _report_empty(deployments)
    return deployments


@dataclass
class _Collected:
    found: Found = field(default_factory=Found)
    sources: dict[str, SourceFile] = field(default_factory=dict)


def _read_file(source: SourceFile, collected: _Collected, inputs: Inputs) -> Deployment | None:
    """Read one file: into ``collected``, or as a deployment of its own."""
    if _looks_like_yaml(source):
        documents, faults = parse_yaml(source)
        if documents and _is_profile(documents[0]):
            return profile_deployment(validate(source, documents[0], faults), inputs.target, inputs.host)
        if faults:
            collected.sources[source.path] = source
            collected.found.faults += faults
            return None
    collected.sources[source.path] = source
    _read_script(source, collected.found)
    return None


def _looks_like_yaml(source: SourceFile) -> bool:
    return source.path.endswith((".yaml", ".yml", ".json")) or source.text.lstrip("\ufeff").startswith("version:")


def _is_profile(tree: Node) -> bool:
    return isinstance(tree.value, dict) and "version" in tree.value and bool({"decode", "prefill"} & set(tree.value))


def _read_script(source: SourceFile, found: Found, depth: int = 0) -> None:
    script = read_shell(source)
    found.faults += script.faults
    for command in script.commands:
        if read_command(command, "shell", source.path, found):
            continue
        for text in scripts_inside(command) if depth < MAX_NESTED else ():
            _read_nested(text, found, depth + 1)


def _read_nested(text: Text, found: Found, depth: int) -> None:
    """Read a script inside a script; its places are those of the outer file."""
    start = text.spots[0] if len(text.spots) else 0
    verbatim = text.source.text[start : start + len(text.value)] == text.value
    if not verbatim:
        return
    # Blank out what stands before, so that lines and columns stay those of the file.
    before = "".join(c if c == "\n" else " " for c in text.source.text[:start])
    _read_script(SourceFile(text.source.path, before + text.value), found, depth)


def _read_given_command(words: Sequence[str], collected: _Collected) -> None:
    """Read the command behind ``--``: each word is its own line of ``<command line>``."""
    texts = []
    for word in words:
        source = SourceFile(COMMAND_LINE, word)
        texts.append(Text.verbatim(source, 0, len(word)))
    if texts:
        read_command(Command(texts, {}, texts[0].origin()), "command", COMMAND_LINE, collected.found)
        collected.sources[COMMAND_LINE] = SourceFile(COMMAND_LINE, "")  # no lines to show: each word is its own


def _deployment(collected: _Collected, inputs: Inputs) -> Deployment:
    found = collected.found
    ascend = is_ascend(found.nodes)
    return Deployment(
        decide(ascend, inputs.target, None, found.nodes),
        found.nodes,
        found.faults,
        collected.sources,
        found.proxies,
        inputs.host,
        ascend,
    )


def profile_deployment(loaded: LoadedProfile, given: Target | None, host: dict[str, Any] | None) -> Deployment:
    """Return a profile's deployment: all nodes of both sides, rendered for its target."""
    profile = loaded.profile
    deployment = Deployment(given or newest(True), sources={loaded.source.path: loaded.source}, host=host)
    deployment.faults += loaded.faults
    if profile is None:
        return deployment
    deployment.ascend = profile.hardware_kind().ascend
    deployment.target = target_of(loaded, given)
    for side in ("prefill", "decode"):
        rendered = render(loaded, side, deployment.target)
        deployment.nodes += rendered.launches
        deployment.faults += rendered.faults
    return deployment


def target_of(loaded: LoadedProfile, given: Target | None) -> Target:
    """Return the release that a valid profile is rendered for."""
    assert loaded.profile is not None
    profile = loaded.profile
    ascend = profile.hardware_kind().ascend
    if given is not None and given.is_ascend != ascend:
        given = None
    written = profile.release()
    if written is not None and written.is_ascend != ascend:
        written = None
    return decide(ascend, given, written, [])


def _report_empty(deployments: list[Deployment]) -> None:
    """Say that no file holds an engine, where nothing else explains it."""
    if any(d.nodes for d in deployments) or any(d.faults for d in deployments):
        return
    for deployment in deployments:
        for source in deployment.sources.values():
            deployment.faults.append(
                Fault(
                    "unreadable",
                    source.origin(0, 0),
                    "no vLLM engine found: it is no profile, and no command in it starts vllm serve",
                    "没有找到 vLLM 引擎:它不是配置文件,其中也没有启动 vllm serve 的命令",
                )
            )
