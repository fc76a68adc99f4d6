"""Twins in YAML and in units of systemd: manifests, compose files, values of charts, files of flags, profiles."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

import yaml
from fixture import Engine, Files, Fixture
from shell_twins import (
    IMAGE,
    Writer,
    double,
    double_on_lines,
    glued,
    needs_quotes,
    on_lines,
    parsed,
    script_file,
    script_of,
)


def dump(data: Any, **how: Any) -> str:
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True, **how))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


class Literal(str):
    """A text that is written as a block of lines."""


class Folded(str):
    """A text that is written as a folded block."""


class Flow(list[Any]):
    """A list that is written in brackets."""


_Dumper.add_representer(Literal, lambda d, text: d.represent_scalar("tag:yaml.org,2002:str", text, style="|"))
_Dumper.add_representer(Folded, lambda d, text: d.represent_scalar("tag:yaml.org,2002:str", text, style=">"))
_Dumper.add_representer(Flow, lambda d, items: d.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True))

HOST: dict[str, Any] = {"hostNetwork": True, "hostIPC": True}
MOUNTED: dict[str, Any] = {"volumeMounts": [{"name": "etc", "mountPath": "/etc"}]}
SERVICE: dict[str, Any] = {"network_mode": "host", "ipc": "host", "volumes": ["/etc:/etc"]}
"""What gives a container the host's network and memory, so that it is to its engine as the host itself is."""
Service = Callable[[Engine], "dict[str, Any] | None"]


def kubernetes_dollars(value: Any) -> Any:
    """Return Kubernetes' spelling of texts: ``$(`` and ``$$`` are the only ones in which a dollar sign is more."""
    if isinstance(value, list):
        return type(value)(kubernetes_dollars(part) for part in value)
    return type(value)(re.sub(r"\$(?=[$(])", "$$", value)) if isinstance(value, str) else value


def as_words(engine: Engine) -> dict[str, Any]:
    return {"command": ["vllm", "serve"], "args": list(engine.words)}


def in_brackets(engine: Engine) -> dict[str, Any]:
    return {"command": Flow(["vllm", "serve"]), "args": Flow(engine.words)}


def changed_words(engine: Engine) -> dict[str, Any]:
    return {"command": ["vllm", "serve"], "args": [on_lines(word) for word in engine.words]}


def handed_literal(engine: Engine) -> dict[str, Any]:
    return {"command": ["bash", "-c"], "args": [Literal(Writer().command(engine) + "\n")]}


def handed_double(engine: Engine) -> dict[str, Any]:
    return {"command": ["bash", "-c"], "args": [Literal(Writer(quote=double_on_lines).command(engine) + "\n")]}


def handed_folded(engine: Engine) -> dict[str, Any]:
    return {"command": ["bash", "-c"], "args": [Folded(Writer(between=" ").command(engine) + "\n")]}


def handed_word(engine: Engine) -> dict[str, Any]:
    return {"command": ["bash", "-c"], "args": [Writer(quote=double, between=" ").command(engine)]}


def kubernetes(container: Service, folded: bool = False, **how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form of a pod for each engine."""

    def write(fixture: Fixture) -> Files | None:
        pods = []
        for number, engine in enumerate(fixture.engines):
            env = [{"name": name, "value": kubernetes_dollars(value)} for name, value in engine.env]
            words = {key: kubernetes_dollars(given) for key, given in (container(engine) or {}).items()}
            named = {"name": "main", "image": IMAGE, **words, **MOUNTED}
            spec = {**HOST, "containers": [{**named, **({"env": env} if env else {})}]}
            metadata = {"name": f"engine{number}"}
            pods.append(dump({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, **how))
        text = "---\n".join(pods)
        return {"pods.yaml": fold(text) if folded else text} if pods else None

    return write


def fold(text: str) -> str:
    """Break the long lines of folded blocks before each flag, as people write them."""
    return re.sub(r"(?m)^( +)(.*vllm serve .*)$", lambda m: m[1] + re.sub(r" (?=--[a-z])", f"\n{m[1]}", m[2]), text)


def _dollars(value: Any) -> Any:
    """Return compose's spelling: a dollar sign stands twice."""
    if isinstance(value, dict):
        return {key: _dollars(part) for key, part in value.items()}
    if isinstance(value, list):
        return type(value)(_dollars(part) for part in value)
    return type(value)(value.replace("$", "$$")) if isinstance(value, str) else value


def command_of(engine: Engine) -> str:
    return " ".join(["vllm serve", *map(shlex.quote, engine.words)])


def compose(command: Callable[[Engine], Any], mapping: bool, folded: bool = False, **how: Any) -> Any:
    """Return the form of a compose file with a service for each engine."""

    def write(fixture: Fixture) -> Files | None:
        services: dict[str, Any] = {}
        for number, engine in enumerate(fixture.engines):
            given: Any = dict(engine.env) if mapping else [f"{name}={value}" for name, value in engine.env]
            service = {"image": IMAGE, **SERVICE, "command": _dollars(command(engine))}
            services[f"engine{number}"] = {**service, **({"environment": _dollars(given)} if given else {})}
        text = dump({"services": services}, **how)
        return {"compose.yaml": fold(text) if folded else text} if services else None

    return write


def _in_container(given: dict[str, Any]) -> dict[str, Any]:
    """Return the words of a container as a chart hands them on to Kubernetes."""
    return {key: kubernetes_dollars(part) if key in ("command", "args") else part for key, part in given.items()}


def loose(engine_of: Service, **how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form of a chart's values."""

    def write(fixture: Fixture) -> Files | None:
        tree = {
            f"engine{number}": {
                **_in_container(engine_of(engine) or {}),
                **({"env": {name: kubernetes_dollars(value) for name, value in engine.env}} if engine.env else {}),
            }
            for number, engine in enumerate(fixture.engines)
        }
        return {"values.yaml": dump(tree, **how)} if tree else None

    return write


def flags(engine: Engine) -> dict[str, Any] | None:
    """Return long flags with their values; None where the words are more than a model and such flags."""
    found: dict[str, Any] = {}
    words = [*engine.words]
    if words and not words[0].startswith("-"):
        found["model"] = words.pop(0)
    name = None
    for word in glued(tuple(words)):
        match = re.fullmatch(r"--([a-z][\w-]*)(?:=(.*))?", word, re.DOTALL)
        if match is None or match[1] in found or match[1].startswith("no-"):
            return None
        name = match[1]
        found[name] = True if match[2] is None else match[2]
    return found or None


def typed(value: Any, objects: bool) -> Any:
    """Return a flag's text as YAML or Python would have it: a number, an object."""
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"0|[1-9]\d{0,8}", value):
        return int(value)
    found = parsed(value) if objects else None
    return value if found is None else found


def config_file(objects: bool, **how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form of a script whose flags stand in a file for ``--config``."""

    def write(fixture: Fixture) -> Files | None:
        lines, files, earlier = [], {}, dict[str, str]()
        for number, engine in enumerate(fixture.engines):
            given = flags(engine)
            if given is None or "config" in given:
                return None
            model = given.pop("model", None)
            lines += Writer().exports(engine, earlier)
            lines.append(f"vllm serve {shlex.quote(model) if model else ''} --config engine{number}.yaml &")
            files[f"engine{number}.yaml"] = dump({k: typed(v, objects) for k, v in given.items()}, **how)
        script = script_file("\n".join(lines) + "\n")
        return {**script, **files} if lines and script else None

    return write


def unit_word(text: str, mark: str = '"', dollars: bool = False) -> str:
    """Write a word of a unit: in quotes of either kind a backslash escapes; ``$`` is special in commands only."""
    text = text.replace("%", "%%").replace("$", "$$") if dollars else text.replace("%", "%%")
    escaped = text.replace("\\", "\\\\").replace(mark, f"\\{mark}").replace("\n", "\\n").replace("\t", "\\t")
    return f"{mark}{escaped}{mark}"


def systemd(mark: str) -> Callable[[Fixture], Files | None]:
    """Return the form of a unit, whose words stand between ``mark``."""

    def word(text: str, dollars: bool) -> str:
        return text if not needs_quotes(text) and "%" not in text else unit_word(text, mark, dollars)

    def write(fixture: Fixture) -> Files | None:
        if len(fixture.engines) != 1:
            return None
        engine = fixture.engines[0]
        lines = [f"Environment={word(f'{name}={value}', False)}" for name, value in engine.env]
        words = [word(text, True) for text in engine.words]
        command = " ".join(f"\\\n  {text}" if text.startswith("--") else text for text in words)
        body = "\n".join([*lines, f"ExecStart=/usr/bin/vllm serve {command}"])
        return {"engine.service": f"[Unit]\nDescription=engine\n\n[Service]\n{body}\nRestart=always\n"}

    return write


def profile(**how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form of a profile that ``pd-launch init`` would write."""

    def write(fixture: Fixture) -> Files | None:
        from pd_launch.launcher.init.convert import convert
        from pd_launch.launcher.sources.read import read_texts

        if not fixture.engines:
            return None
        try:
            files = fixture.files or script_file(script_of(fixture)) or {}
            text = convert(read_texts(files, fixture.target)).text
        except (ValueError, KeyError, TypeError):
            return None
        return {"profile.yaml": dump(yaml.safe_load(text), **how) if how else text}

    return write


def restyled(**how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form of YAML files in another style."""

    def write(fixture: Fixture) -> Files | None:
        files: Files = {}
        for name, text in fixture.files.items():
            if name.endswith((".yaml", ".yml")) and "{{" not in text:
                try:
                    documents = list(yaml.safe_load_all(text))
                except yaml.YAMLError:
                    return None
                files[name] = "---\n".join(dump(document, **how) for document in documents)
            else:
                files[name] = text
        return files if files != fixture.files else None

    return write
