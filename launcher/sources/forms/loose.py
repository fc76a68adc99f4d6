"""YAML of no form of its own that still starts engines: Helm values, parts of manifests, task and CI files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pd_launch.launcher.sources.engine.engines import add_engine, image_engine, with_variables
from pd_launch.launcher.sources.engine.found import Finish, Found, Nested
from pd_launch.launcher.sources.engine.prose import is_script_text, parts_of_prose, reads_as_prose, speaks_of_engines
from pd_launch.launcher.sources.engine.scripts_given import joined
from pd_launch.launcher.sources.engine.wrapped import engine_words, unwrap
from pd_launch.launcher.sources.forms.manifest import read_manifest
from pd_launch.launcher.sources.forms.only_arguments import add_arguments, are_arguments
from pd_launch.launcher.sources.forms.pod_parts import read_program
from pd_launch.launcher.sources.text.interpolate import LOOSE, expand, expand_command, expand_node
from pd_launch.schemas.core.launch import Container, EnvVar, NodeLaunch
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text, Unknown

_SURROUNDINGS = ("env", "envs", "environment")
_DATA = ("ConfigMap", "Secret", "CustomResourceDefinition")
_FURTHER = ("envFrom", "env_file", "envFile")


def read_loose(tree: Node, path: str, found: Found) -> bool:
    """Add the engines of containers and scripts anywhere in a document to ``found``; return whether there are any."""
    before = len(found.nodes) + len(found.nested)
    read_manifest(tree, path, found)
    if len(found.nodes) + len(found.nested) == before:
        _look(tree, {}, path, found)
    return len(found.nodes) + len(found.nested) > before


def read_texts_of(tree: Node, path: str, found: Found) -> None:
    """Add what texts anywhere in an object of a kind that nobody knows start; data of ConfigMaps is no command."""
    kind = tree.get("kind")
    if kind is None or kind.value not in _DATA:
        _look(tree, {}, path, found)


def _look(node: Node, env: Mapping[str, EnvVar], path: str, found: Found, env_open: Origin | None = None) -> None:
    """Add what texts and lists of words below ``node`` start, with the variables that the mappings around them set."""
    if isinstance(node.value, dict):
        if node.get("format_version") is not None and (processes := node.get("processes")) is not None:
            # a plan of pd-launch, whose own argv is that of the first of them
            for process in processes.elements():
                _look(process, env, path, found)
            return
        env = {**env, **_environment(node)}
        further = next((part for key in _FURTHER if (part := node.get(key)) is not None), None)
        env_open = (further.key or further.origin) if further is not None else env_open
        if _command(node, env, path, found, env_open):
            return
        shell, run = node.get("shell"), node.get("run")
        if shell is not None and run is not None and run.text is not None and str(shell.value).startswith("python"):
            read_program(run.text, with_variables(env, env_open), found, env)
            return
        for _, child in node.items():
            _look(child, env, path, found, env_open)
    elif isinstance(node.value, list):
        texts = _texts(node)
        if len(texts) == len(node.value) and any(is_script_text(text.value) for text in texts):
            found.guessed.append(node.origin)
            found.apart.append(node.origin)
            found.nested.append(Nested(joined(texts, "\n"), with_variables(env, env_open), env))
            return
        if _words(texts, path, node, found, with_variables(env, env_open)):
            return
        if len(texts) == len(node.value) and are_arguments(texts):
            add_arguments(texts, path, node.origin, found, with_variables(env, env_open))
            return
        for child in node.elements():
            _look(child, env, path, found, env_open)
    elif node.text is not None and speaks_of_engines(node.text.value):
        _text(node.text, env, found, with_variables(env, env_open))


def _text(text: Text, env: Mapping[str, EnvVar], found: Found, finish: Finish) -> None:
    """Add what a text may let be run: all of it as a script, or what of it is no sentence."""
    found.apart.append(text.origin())
    if not reads_as_prose(text.value):
        if is_script_text(text.value):
            found.guessed.append(text.origin())
            found.nested.append(Nested(text, finish, env))
        return
    for part in parts_of_prose(text):
        found.guess(part, finish, env)


def _words(texts: list[Text], path: str, node: Node, found: Found, finish: Finish) -> bool:
    """Add the engine of a list of words that is a whole command, such as ``argv`` of a plan."""
    if len(texts) < 2 or len(texts) != len(node.value) or engine_words(unwrap(texts)[0]) is None:
        return False
    return add_engine(expand(texts, LOOSE), "manifest", path, node.origin, found, finish)


def _command(mapping: Node, env: Mapping[str, EnvVar], path: str, found: Found, env_open: Origin | None) -> bool:
    """Add the engine of a mapping with ``command`` or ``args``, as a container has them; return whether it is one."""
    command = [*_texts(mapping.get("entrypoint")), *_texts(mapping.get("command"))]
    arguments = _texts(mapping.get("args"))
    image = mapping.get("image")
    words = image_engine(expand([*command, *arguments], LOOSE), image, bool(command))
    line = mapping.get("command")
    if line is not None and line.text is not None and isinstance(line.value, str) and not words:
        given = expand_command(line.text, LOOSE)[0]
        started = image_engine(given, image, False)
        words = words if started is given else started  # a whole command is a text like any other

    def finish(node: NodeLaunch) -> None:
        with_variables(env, env_open)(node)
        if image is not None and isinstance(image.value, str):
            node.container = Container("manifest", image.origin, image=image, partial=True)

    return bool(words) and add_engine(words, "manifest", path, mapping.origin, found, finish)


def _texts(node: Node | None) -> list[Text]:
    return [part.text for part in node.elements() if part.text is not None] if node is not None else []


def _environment(mapping: Node) -> dict[str, EnvVar]:
    """Return the variables of ``env``: a mapping, a list of ``NAME=VALUE``, or of mappings with a name."""
    env: dict[str, EnvVar] = {}
    for key in _SURROUNDINGS:
        given = mapping.get(key)
        for name, value in given.items() if given else ():
            env[name] = EnvVar(name, expand_node(value, LOOSE), "yaml")
        for entry in given.elements() if given else ():
            named = entry.get("name")
            if named is not None and isinstance(named.value, str):
                value = entry.get("value") or Node(Unknown("valueFrom"), named.origin)
                value = replace(expand_node(value, LOOSE), key=named.origin, key_text=named.text, shadowed=[])
                env[named.value] = EnvVar(named.value, value, "yaml")
            elif entry.text is not None:
                name, sign, _ = entry.text.value.partition("=")
                text = entry.text.part(len(name) + 1, len(entry.text.value)) if sign else entry.text.stand_in(HOLE)
                env[name] = EnvVar.of(name, text, "yaml", entry.text.part(0, len(name)))
    return env
