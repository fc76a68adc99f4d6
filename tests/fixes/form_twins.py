"""Twins in forms that hold an engine's words, or its script, in a file of another program's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from fixture import Engine, Files, Fixture
from python_twins import literal
from shell_twins import IMAGE, Writer, by_lines, double, script_of
from yaml_twins import HOST, MOUNTED, Literal, command_of, dump, kubernetes_dollars, unit_word

Form = Callable[[Fixture], "Files | None"]


def _named_env(engine: Engine) -> list[dict[str, str]]:
    return [{"name": name, "value": kubernetes_dollars(value)} for name, value in engine.env]


def _container(engine: Engine, **more: Any) -> dict[str, Any]:
    env = _named_env(engine)
    return {"name": "main", "image": IMAGE, **more, **({"env": env} if env else {})}


def _words(engine: Engine) -> dict[str, Any]:
    return {"command": ["vllm", "serve"], "args": [kubernetes_dollars(word) for word in engine.words]}


def manifests(wrap: Callable[[str, dict[str, Any]], dict[str, Any]], as_json: bool = False) -> Form:
    """Return the form of an object for each engine that holds its pod; ``wrap`` is given a name and the pod's spec."""

    def write(fixture: Fixture) -> Files | None:
        objects = [
            wrap(f"engine{number}", {**HOST, "containers": [_container(engine, **_words(engine), **MOUNTED)]})
            for number, engine in enumerate(fixture.engines)
        ]
        if not objects:
            return None
        if not as_json:
            return {"objects.yaml": "---\n".join(map(dump, objects))}
        whole = objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects}
        return {"objects.json": json.dumps(whole, indent=2, ensure_ascii=False) + "\n"}

    return write


def pod(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def deployment(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    body = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": body}


def leader_worker_set(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    template = {"size": 1, "workerTemplate": {"spec": spec}}
    body = {"replicas": 1, "leaderWorkerTemplate": template}
    kind = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    return {**kind, "metadata": {"name": name}, "spec": body}


def ray_cluster(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    group = {"rayStartParams": {}, "template": {"spec": spec}}
    kind = {"apiVersion": "ray.io/v1", "kind": "RayCluster"}
    return {**kind, "metadata": {"name": name}, "spec": {"headGroupSpec": group}}


def config_map(run: list[str], **how: Any) -> Form:
    """Return the form of a script in a ConfigMap, mounted as a file that the container runs with ``run``."""

    def write(fixture: Fixture) -> Files | None:
        documents: list[dict[str, Any]] = []
        for number, engine in enumerate(fixture.engines):
            writer = Writer(**how)
            script = f"#!/bin/bash\nexec {writer.command(engine)}\n"
            if not writer.found:
                return None
            data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"scripts{number}"}}
            documents.append({**data, "data": {"serve.sh": Literal(script)}})
            mounts = [*MOUNTED["volumeMounts"], {"name": "scripts", "mountPath": "/scripts"}]
            spec = {
                **HOST,
                "containers": [_container(engine, command=run, volumeMounts=mounts)],
                "volumes": [{"name": "scripts", "configMap": {"name": f"scripts{number}", "defaultMode": 0o755}}],
            }
            documents.append(pod(f"engine{number}", spec))
        return {"mounted.yaml": "---\n".join(map(dump, documents))} if documents else None

    return write


def e2e(as_list: bool) -> Form:
    """Return the form of an end-to-end description of vllm-ascend's, whose commands are texts or lists of words."""

    def write(fixture: Fixture) -> Files | None:
        entries: list[dict[str, Any]] = []
        for engine in fixture.engines:
            if any("$" in text for text in engine.texts):
                return None  # all of them are placeholders
            words = ["vllm", "serve", *engine.words]
            entry = {"server_cmd": words if as_list else command_of(engine)}
            entries.append({**entry, **({"envs": dict(engine.env)} if engine.env else {})})
        head = {"test_name": "engines", "num_nodes": len(entries)}
        return {"e2e.yaml": dump({**head, "deployment": entries})} if entries else None

    return write


def dockerfile(as_json: bool) -> Form:
    """Return the form of a Dockerfile that starts the engine, in the exec form or through the shell."""

    def write(fixture: Fixture) -> Files | None:
        if len(fixture.engines) != 1:
            return None
        engine = fixture.engines[0]
        if any("\n" in text for text in engine.texts):
            return None
        lines = [f"ENV {name}={double(value)}" for name, value in engine.env if "`" not in value]
        if len(lines) < len(engine.env):
            return None
        if as_json:
            start = ['ENTRYPOINT ["vllm", "serve"]', f"CMD {json.dumps(list(engine.words), ensure_ascii=False)}"]
        else:
            start = [f"CMD {Writer().command(engine)}"]
        return {"Dockerfile": "\n".join([f"FROM {IMAGE}", *lines, *start, ""])}

    return write


def supervisord(fixture: Fixture) -> Files | None:
    """Write a program of supervisord's for each engine: words as a shell has them, ``%`` twice, no ``;`` or ``#``."""
    lines: list[str] = ["[supervisord]", "nodaemon=true"]
    for number, engine in enumerate(fixture.engines):
        command = command_of(engine)
        texts = [command, *(value for _, value in engine.env)]
        if any("\n" in text or re.search(r"\s[;#]", text) for text in texts):
            return None
        if any(re.search(r"[\"\\]|^'|'$", value) for _, value in engine.env):
            return None  # between its quotes there is no escape
        lines += ["", f"[program:engine{number}]", f"command={command.replace('%', '%%')}"]
        if engine.env:
            given = [f'{name}="{value}"' for name, value in engine.env]
            lines.append("environment=" + ",".join(given).replace("%", "%%"))
    return {"supervisord.conf": "\n".join([*lines, ""])} if fixture.engines else None


def notebook(magic: bool) -> Form:
    """Return the form of a notebook: a cell starts an engine, by Python or as a script of bash's."""

    def write(fixture: Fixture) -> Files | None:
        cells: list[dict[str, Any]] = []
        for engine in fixture.engines:
            if magic:
                script = Writer().script((engine,))
                cells.append(_cell(f"%%bash\n{script}"))
                continue
            env = [f"os.environ[{literal(n, chr(34))}] = {literal(v, chr(34))}" for n, v in engine.env]
            words = ", ".join(literal(word, '"') for word in ("vllm", "serve", *engine.words))
            cells.append(_cell("\n".join(["import os", "import subprocess", *env, f"subprocess.Popen([{words}])"])))
        kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        whole = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        return {"engines.ipynb": json.dumps(whole, indent=1, ensure_ascii=False) + "\n"} if cells else None

    return write


def _cell(code: str) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": by_lines(code)}


def makefile(fixture: Fixture) -> Files | None:
    """Write a rule whose recipe starts the engine: to make, a dollar sign stands twice."""
    lines: list[str] = []
    for number, engine in enumerate(fixture.engines):
        if any("\n" in text or "#" in text for text in engine.texts):
            return None
        command = Writer(inline=True).command(engine).replace("$", "$$")
        lines += [f"engine{number}:", "\t" + command.replace("\n  ", "\n\t  "), ""]
    return {"Makefile": "\n".join([".PHONY: all", *lines])} if lines else None


def template(**how: Any) -> Form:
    """Return the form of a template of Jinja's that fills in nothing of the engine's own words."""

    def write(fixture: Fixture) -> Files | None:
        text = script_of(fixture, **how)
        if text is None or re.search(r"\{[{%#]", text):
            return None
        head = "#!/bin/bash\n# {{ ansible_managed }}\n{% if debug %}\nset -x\n{% endif %}\nexport REGION={{ region }}\n"
        return {"serve.sh.j2": head + text}

    return write


JINJA = {"ansible_managed": "managed", "debug": True, "region": "north"}
"""What a template may be rendered with."""


def unit_shell(fixture: Fixture) -> Files | None:
    """Write a unit that starts the engine by a shell."""
    if len(fixture.engines) != 1:
        return None
    engine = fixture.engines[0]
    command = Writer(between=" ").command(engine)
    if "\n" in command or any("\n" in value for _, value in engine.env):
        return None
    settings = [f"Environment={unit_word(f'{name}={value}')}" for name, value in engine.env]
    start = f"ExecStart=/bin/bash -c {unit_word('exec ' + command, dollars=True)}"
    body = "\n".join([*settings, start])
    return {"engine.service": f"[Unit]\nDescription=engine\n\n[Service]\n{body}\nRestart=always\n"}
