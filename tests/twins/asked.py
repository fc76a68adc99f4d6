"""What others than the checker make of a twin: bash, Python, PyYAML, systemd, make, Jinja, supervisord.

Each answer is the words behind ``vllm`` and the values of the variables that were asked for. A stand-in for ``vllm``
writes both down. What Kubernetes and Compose do with dollar signs is no tool's here, but their manuals'.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
import yaml
from fixture import Files
from form_twins import JINJA
from stand_in import BASH, Calls, calls_by
from stand_in import calls_of as restricted

ENGINE = "/usr/bin/vllm"
_DOLLARS = re.compile(r"\$(?:\$|\((\w+)\))")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SAID = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s"]+)', re.DOTALL)


def asked(files: Files, names: Sequence[str]) -> Calls | None:
    """Return the calls of ``vllm`` that the file of a twin makes; None where nothing here can be asked for it."""
    name, text = next(iter(files.items()))
    if len(files) != 1 or not BASH:
        return None
    if name.endswith(".sh"):
        return calls_of(text, names)
    known: dict[str, Callable[[str, Sequence[str]], Calls | None] | None] = {
        "pods.yaml": _pods, "objects.yaml": _pods, "objects.json": _pods, "mounted.yaml": _pods,
        "compose.yaml": _compose, "e2e.yaml": _e2e, "values.yaml": _values, "engine.py": _python,
        "engines.ipynb": _notebook, "engine.service": _unit, "Makefile": _make, "serve.sh.j2": _template,
        "supervisord.conf": _supervisord,
    }  # fmt: skip
    assert name in known, f"{name}: say here what its own program makes of it, or that there is none to ask (None)"
    ask = known[name]
    return None if ask is None else ask(text, names)


def calls_of(script: str, names: Sequence[str], given: Mapping[str, str] = MappingProxyType({})) -> Calls:
    """Return the calls that a script makes, which may end with ``exec``: all of it is written here."""
    return restricted(script, names, given, may_exec=True)


def _words(words: Sequence[str], env: Mapping[str, str], names: Sequence[str], scripts: Mapping[str, str]) -> Calls:
    """Return the calls that one command makes: ``vllm`` itself, a shell with a script, or a script that is a file."""
    program, *rest = words
    if program.rpartition("/")[2] == "vllm":
        return [(tuple(map(str, rest)), tuple(env.get(name, "") for name in names))]
    if program in scripts:
        return calls_of(scripts[program], names, env)
    if program.rpartition("/")[2] == "bash" and rest[0] == "-c":
        return calls_of(rest[1], names, env)
    return calls_of(scripts[rest[0]], names, env)


def _pods(text: str, names: Sequence[str]) -> Calls:
    scripts: dict[str, str] = {}
    found: Calls = []
    for document in yaml.safe_load_all(text):
        for item in document.get("items", [document]):
            if item["kind"] == "ConfigMap":
                scripts = {f"/scripts/{name}": script for name, script in item["data"].items()}
            for container in _containers(item):
                env: dict[str, str] = {}
                for entry in container.get("env", []):
                    env[entry["name"]] = _expanded(entry["value"], env)
                words = [_expanded(word, env) for key in ("command", "args") for word in container.get(key, [])]
                found += _words(words, env, names, scripts)
    return found


def _containers(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return [*item.get("containers", []), *[c for part in item.values() for c in _containers(part)]]
    return []


def _expanded(text: str, env: Mapping[str, str]) -> str:
    """Return a text as Kubernetes hands it on: ``$$`` is one sign, ``$(NAME)`` a variable, if there is one."""
    return _DOLLARS.sub(lambda m: env.get(m[1], m[0]) if m[1] else "$", text)


def _compose(text: str, names: Sequence[str]) -> Calls:
    found: Calls = []
    for service in yaml.safe_load(text)["services"].values():
        given = service.get("environment", {})
        pairs = given.items() if isinstance(given, dict) else (entry.split("=", 1) for entry in given)
        env = {name: value.replace("$$", "$") for name, value in pairs}
        command = service["command"]
        words = shlex.split(command.replace("$$", "$")) if isinstance(command, str) else command
        if not isinstance(command, str):
            words = [word.replace("$$", "$") for word in words]
        found += _words(words, env, names, {})
    return found


def _e2e(text: str, names: Sequence[str]) -> Calls:
    found: Calls = []
    for entry in yaml.safe_load(text)["deployment"]:
        command = entry["server_cmd"]
        words = shlex.split(command) if isinstance(command, str) else command
        found += _words(words, entry.get("envs", {}), names, {})
    return found


def _values(text: str, names: Sequence[str]) -> Calls:
    found: Calls = []
    for engine in yaml.safe_load(text).values():
        env, script = (
            {name: _expanded(value, {}) for name, value in engine.get("env", {}).items()},
            engine.get("script"),
        )
        words = [_expanded(word, {}) for word in [*engine.get("command", []), *engine.get("args", [])]]
        found += _words(words, env, names, {}) if script is None else calls_of(script, names, env)
    return found


def _python(text: str, names: Sequence[str]) -> Calls | None:
    found: Calls = []
    environ: dict[str, str] = {}
    built: list[object] = []

    def run(words: Any, env: Mapping[str, str] | None = None, **_: object) -> None:
        given = environ if env is None else env
        found.extend(calls_of(words, names, given) if isinstance(words, str) else _words(words, given, names, {}))

    modules = {
        "os": SimpleNamespace(environ=environ, system=run),
        "subprocess": SimpleNamespace(run=run, Popen=run),
        "json": json,
        "shlex": shlex,
    }
    classes = ("LLM", "EngineArgs", "AsyncEngineArgs", "KVTransferConfig")
    engine = SimpleNamespace(**dict.fromkeys(classes, lambda **given: built.append(given)))
    builtins = {"__import__": lambda name, *_: modules.get(name, engine)}
    exec(compile(text, "engine.py", "exec"), {"__builtins__": builtins})
    return None if built else found


def _notebook(text: str, names: Sequence[str]) -> Calls:
    found: Calls = []
    for cell in json.loads(text)["cells"]:
        code = "".join(cell["source"])
        magic, _, script = code.partition("\n")
        found += calls_of(script, names) if magic == "%%bash" else _python(code, names) or []
    return found


def _unit(text: str, names: Sequence[str]) -> Calls:
    """Ask systemd-analyze, which shows a unit as it was read; ``$$`` in a command is one sign when it is started."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze here")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "engine.service").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [program, "verify", "--man=no", "--generators=no", "./engine.service"],
            cwd=folder, env={**os.environ, "SYSTEMD_LOG_LEVEL": "debug"}, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
    said = done.stdout.decode()
    if "Command Line: " not in said:
        pytest.skip(f"systemd-analyze does not show what it read: {done.stderr.decode()[-200:]}")
    line = said.partition("Command Line: ")[2].partition("\n")[0]
    words = [_ESCAPED.sub(_unescaped, quoted) if quoted or not bare else bare for quoted, bare in _SAID.findall(line)]
    shown = re.findall(r"^\t+Environment: (\w+)=((?:.|\n(?!\t))*)$", said, re.MULTILINE)
    return _words([word.replace("$$", "$") for word in words], dict(shown), names, {})


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(match[1], match[1])


def _make(text: str, names: Sequence[str]) -> Calls:
    program = shutil.which("make")
    if program is None:
        pytest.skip("there is no make here")
    goals = re.findall(r"(?m)^(\w+):$", text)
    return calls_by([program, "-s", f"SHELL={BASH}", *goals, "-f"], {"Makefile": text}, "Makefile", names, {})


def _template(text: str, names: Sequence[str]) -> Calls:
    jinja = pytest.importorskip("jinja2", reason="Jinja renders the templates")
    return calls_of(str(jinja.Template(text, keep_trailing_newline=True).render(**JINJA)), names)


def _supervisord(text: str, names: Sequence[str]) -> Calls:
    options = pytest.importorskip("supervisor.options", reason="supervisord reads its own configuration")
    found: Calls = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "supervisord.conf"
        path.write_text(text, encoding="utf-8")
        read = options.ServerOptions()
        read.realize(args=["-c", str(path)])
        for program in [p for group in read.process_group_configs for p in group.process_configs]:
            found += _words(shlex.split(program.command), program.environment, names, {})
    return found
