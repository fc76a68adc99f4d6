"""A fault is the same in whatever form the launch is written: rows of one script, written in other ways."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from test_cases import ROWS

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.values import HOLE

Files = dict[str, str]
QUOTING = ("PD001", "PD002", "PD003", "PD013")
"""Faults of the text itself, which another form does not have."""
FORM = ("PD306", "PD701", "PD703", "PD706", "PD801", "PD802", "PD803", "PD804")
"""Rules that ask for the form, or for what else it says."""


class Launch:
    """The words and variables of one launch, to be written in another form."""

    def __init__(self, model: str, flags: list[list[str]], env: dict[str, str]) -> None:
        self.model, self.flags, self.env = model, flags, env
        self.words = [model, *(word for flag in flags for word in flag)]

    @property
    def exports(self) -> str:
        return "".join(f"export {name}={shlex.quote(text)}\n" for name, text in self.env.items())


def written(node: NodeLaunch) -> Launch | None:
    """Return a launch's words, or None where some of them are not known."""
    flags = []
    for arg in node.args:
        given = [value for value in (arg.value, *arg.more) if value is not None]
        texts = [value.text.value for value in given if value.text is not None]
        if len(texts) < len(given):
            return None
        flags.append([arg.written, *texts] if arg.name else [arg.written])
    env = {name: variable.value.value for name, variable in node.env.items()}
    known = node.model is not None and all(isinstance(text, str) for text in [node.model.value, *env.values()])
    if not known or node.program != "serve" or any(HOLE in word for flag in flags for word in flag):
        return None
    return Launch(str(node.model.value if node.model else ""), flags, env)


def array(launch: Launch) -> Files:
    words = "\n".join("  " + shlex.join(flag) for flag in launch.flags)
    return {"a.sh": f'{launch.exports}ARGS=(\n{words}\n)\nexec vllm serve {shlex.quote(launch.model)} "${{ARGS[@]}}"\n'}


def function(launch: Launch) -> Files:
    start = 'start() {\n  local model=$1; shift\n  vllm serve "$model" "$@" &\n}\n'
    return {"a.sh": f"{launch.exports}{start}start {shlex.join(launch.words)}\nwait\n"}


def variable(launch: Launch) -> Files:
    command = shlex.quote(f"vllm serve {shlex.join(launch.words)}")
    return {"a.sh": f'{launch.exports}CMD={command}\neval "$CMD &"\n'}


def docker(launch: Launch) -> Files:
    env = " ".join(f"-e {shlex.quote(f'{name}={text}')}" for name, text in launch.env.items())
    return {
        "a.sh": f"docker run -d --privileged --ipc=host --net=host {env} image:1 vllm serve "
        f"{shlex.join(launch.words)}\n"
    }


def compose(launch: Launch) -> Files:
    words, env = json.dumps(["vllm", "serve", *launch.words]), json.dumps(launch.env)
    service = "image: image:1\n    ipc: host\n    network_mode: host\n    privileged: true"
    return {"compose.yaml": f"services:\n  one:\n    {service}\n    environment: {env}\n    command: {words}\n"}


def manifest(launch: Launch) -> Files:
    flags = ["=".join(flag) if len(flag) == 2 and flag[0].startswith("--") else flag for flag in launch.flags]
    words = [word for flag in flags for word in ([flag] if isinstance(flag, str) else flag)]
    env = json.dumps([{"name": name, "value": text} for name, text in launch.env.items()])
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec:\n  hostIPC: true\n  hostNetwork: true\n"
    engine = f"  - name: engine\n    command: [vllm, serve]\n    env: {env}\n"
    body = f"  containers:\n{engine}    args: {json.dumps([launch.model, *words])}\n"
    return {"pod.yaml": head + body}


def python(launch: Launch) -> Files:
    words = ", ".join(_literal(word) for word in ["vllm", "serve", *launch.words])
    env = "".join(f", {name!r}: {text!r}" for name, text in launch.env.items())
    return {"a.py": f"import json, os, subprocess\ncmd = [{words}]\nsubprocess.run(cmd, env={{**os.environ{env}}})\n"}


def _literal(word: str) -> str:
    try:
        tree = json.loads(word)
    except ValueError:
        return repr(word)
    return f"json.dumps({tree!r})" if isinstance(tree, dict) else repr(word)


def config(launch: Launch) -> Files | None:
    names = [flag[0] for flag in launch.flags]
    plain = all(name.startswith("--") and not name.startswith("--no-") and "." not in name for name in names)
    if not plain or len(set(names)) < len(names) or any(len(flag) > 2 for flag in launch.flags):
        return None
    lines = [f"{flag[0][2:]}: {json.dumps(flag[1]) if len(flag) > 1 else 'true'}\n" for flag in launch.flags]
    script = f"{launch.exports}vllm serve {shlex.quote(launch.model)} --config c.yaml\n"
    return {"a.sh": script, "c.yaml": "".join(lines) or "{}\n"}


FORMS: list[Callable[[Launch], Files | None]] = [
    array,
    function,
    variable,
    docker,
    compose,
    manifest,
    python,
    config,
]


BROUGHT = ("PD201",)
"""What an image of somebody else's may bring: there it is a warning."""


def codes(deployments: list[Deployment]) -> set[tuple[str, str]]:
    """Return what is found, without infos and without what belongs to the form."""
    found = check(deployments)
    shown = (f for f in found if f.severity != "info" and f.code not in FORM)
    return {(f.code, "" if f.code in BROUGHT else f.severity) for f in shown}


def single(row: dict[str, Any]) -> bool:
    return len(row["files"]) == 1 and next(iter(row["files"])).endswith(".sh")


@pytest.mark.parametrize("row", [row for row in ROWS if single(row)], ids=lambda row: row["id"])
def test_a_launch_has_the_same_faults_in_every_form(row: dict[str, Any]) -> None:
    text, target, host = next(iter(row["files"].values())), row["target"], row["host"]
    found = read_texts({"a.sh": text}, target, host)
    nodes = [node for deployment in found for node in deployment.nodes]
    expected = codes(found)
    if len(nodes) != 1 or nodes[0].branches or nodes[0].container or {code for code, _ in expected} & set(QUOTING):
        return
    launch = written(nodes[0])
    for form in FORMS if launch is not None else ():
        files = form(launch) if launch is not None else None
        if files is not None:
            assert codes(read_texts(files, target, host)) == expected, (form.__name__, files)
