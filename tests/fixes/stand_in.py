"""What an input really starts: its scripts are run with a stand-in for ``vllm`` that writes down its arguments.

All around a script is decoded by others than the checker: YAML by PyYAML, Python by Python, words by bash.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import yaml

TIMEOUT_S = 20
BASH = shutil.which("bash") or ""
_STAND_INS = {
    "vllm": (
        '{ printf "%s\\0" "$@"; printf "\\1\\0"; for name in $NAMES; do printf "%s\\0" "${!name}"; done; '
        'printf "\\2\\0"; } > "$WRITTEN.$$"'  # a file of its own: engines in the background write at one time
    ),
    "env": 'exec /usr/bin/env "$@"',
    "bash": 'exec {bash} --noprofile --norc -r "$@"',
    "ssh": 'shift; exec {bash} --noprofile --norc -r -c "$*"',
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        'while [ "$1" != example/engine:1 ]; do if [ "$1" = -e ]; then export "$2"; fi; shift; done; shift; exec "$@"',
    ),
}
Launches = list[list[str]]
Calls = list[tuple[tuple[str, ...], tuple[str, ...]]]
"""The arguments of calls of ``vllm``, each with the variables that were asked for."""


@cache
def _folder() -> Path:
    """Return a folder with nothing but the stand-ins, which are all that a script finds on its PATH."""
    folder = Path(tempfile.mkdtemp(prefix="stand-ins-"))
    for name, body in _STAND_INS.items():
        program = folder / name
        program.write_text(f"#!{BASH}\n{body.replace('{bash}', BASH)}\n")
        program.chmod(0o755)
    return folder


def of_script(script: str) -> Launches:
    """Return the arguments of each call of ``vllm`` that a script makes, in no certain order."""
    return [list(words) for words, _ in calls_of(script)]


def calls_of(
    script: str, names: Sequence[str] = (), given: Mapping[str, str] = MappingProxyType({}), may_exec: bool = False
) -> Calls:
    """Return each call of ``vllm`` that a script makes, with the variables ``names``; it is ``given`` some itself.

    bash is a restricted one, unless it ``may_exec``: it writes to no file, changes no folder and starts nothing but the
    stand-ins. What the script would write into a file and start is handed to a shell instead.
    """
    script = script.replace("cat > engine.sh <<", "bash <<").replace("bash engine.sh\n", "")
    command = [BASH, "--noprofile", "--norc", *([] if may_exec else ["-r"])]
    return calls_by(command, {"script.sh": script.rstrip("\n") + "\n\nwait\n"}, "script.sh", names, given)


def calls_by(
    command: list[str], files: Mapping[str, str], last: str, names: Sequence[str], given: Mapping[str, str]
) -> Calls:
    """Return each call of ``vllm`` that a command makes in a folder with some files; one of them is its last word."""
    with tempfile.TemporaryDirectory() as home:
        for name, text in files.items():
            (Path(home) / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        written = Path(home) / "written"
        own = {"PATH": str(_folder()), "WRITTEN": str(written), "HOME": home, "LC_ALL": "C.UTF-8"}
        subprocess.run(
            [*command, str(Path(home) / last)],
            cwd=home, env={**given, **own, "NAMES": " ".join(names)}, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        found = sorted(Path(home).glob("written.*"), key=lambda path: path.stat().st_mtime_ns)
        calls = [path.read_bytes().decode("utf-8", "replace").partition("\2\0")[0] for path in found]
    halves = [call.partition("\1\0") for call in calls]
    return [(tuple(words.split("\0")[:-1]), tuple(values.split("\0")[:-1])) for words, _, values in halves]


def of_words(words: list[Any]) -> Launches:
    """Return the calls of ``vllm`` that one command makes."""
    if words[:1] == ["vllm"]:
        return [[str(word) for word in words[1:]]]
    return of_script(str(words[2])) if words[:2] == ["bash", "-c"] and len(words) == 3 else []


def of_files(files: Mapping[str, str]) -> Launches | None:
    """Return the calls of ``vllm`` that the files of a twin make; None for a form that is not decoded here."""
    if len(files) != 1 or not BASH:
        return None
    name, text = next(iter(files.items()))
    if name.endswith(".sh"):
        return of_script(text)
    decode = {"pods.yaml": _of_pods, "compose.yaml": _of_compose, "values.yaml": _of_values, "engine.py": _of_python}
    return decode[name](text) if name in decode else None


def _of_pods(text: str) -> Launches:
    containers = [c for pod in yaml.safe_load_all(text) for c in pod["spec"]["containers"]]
    return [call for c in containers for call in of_words(_undoubled([*c.get("command", []), *c.get("args", [])]))]


def _undoubled(words: list[Any]) -> list[str]:
    """Return the words as Kubernetes and compose hand them on: two dollar signs are one."""
    return [str(word).replace("$$", "$") for word in words]


def _of_compose(text: str) -> Launches:
    found: Launches = []
    for service in yaml.safe_load(text)["services"].values():
        command = service["command"]
        words = shlex.split(command) if isinstance(command, str) else command
        found += of_words(_undoubled(words))
    return found


def _of_values(text: str) -> Launches:
    found: Launches = []
    for engine in yaml.safe_load(text).values():
        script = engine.get("script")
        found += of_words([*engine["command"], *engine["args"]]) if script is None else of_script(script)
    return found


def _of_python(text: str) -> Launches | None:
    found: Launches = []
    built: list[object] = []
    run: Any = lambda words, **_: found.extend(of_script(words) if isinstance(words, str) else of_words(words))  # noqa: E731
    modules = {
        "os": SimpleNamespace(environ={}, system=run),
        "subprocess": SimpleNamespace(run=run, Popen=run),
        "json": __import__("json"),
        "shlex": shlex,
    }
    engine = SimpleNamespace(
        **dict.fromkeys(("LLM", "EngineArgs", "AsyncEngineArgs", "KVTransferConfig"), _Built(built))
    )
    builtins = {"__import__": lambda name, *_: modules.get(name, engine), "str": str, "dict": dict}
    exec(compile(text, "engine.py", "exec"), {"__builtins__": builtins})
    return None if built else found


class _Built:
    """Stands for a class of vLLM: notes that it was called."""

    def __init__(self, calls: list[object]) -> None:
        self.calls = calls

    def __call__(self, *given: object, **named: object) -> dict[str, object]:
        self.calls.append((given, named))
        return named
