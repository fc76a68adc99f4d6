"""What a form means is asked of the program that reads it, not of a manual: bash runs the scripts, with a stand-in.

That the writers of twins are right follows, and with ``test_one_engine.py`` that the reader is.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from asked import asked
from awkward import drawn, named
from fixture import Engine
from same_launch import of_engines
from shell_twins import parsed
from twins import FORMS

from tests.sampling import SEED, WHOLE, size

Answers = list[tuple[list[str], list[str]]]
NO_TOOL = (
    "config objects", "config objects double", "config flow", "config texts", "config texts double",
    "Dockerfile", "Dockerfile shell", "profile", "profile double", "profile flow",
    "LLM", "LLM lines", "LLM transfer", "EngineArgs", "AsyncEngineArgs",
    "crlf single", "crlf lines", "crlf array", "crlf heredoc", "kubernetes crlf",
)  # fmt: skip
"""Forms for which there is nothing to ask: the engine itself reads them (``tests/differential`` asks it), docker's
builder does, or, with the line ends of Windows, bash reads something else than is meant."""
ASKED = [name for name, form in FORMS.items() if form.made and name not in NO_TOOL]


def _engines(form: str) -> list[Engine]:
    all_named = [engine for _, engine in named()]
    chosen = all_named if WHOLE else Random(f"{SEED} {form}").sample(all_named, 4)
    return [*chosen, *drawn(f"{SEED} {form} asked", size(2, 40))]


def _plain(words: Sequence[str]) -> list[str]:
    """Return words without what some forms change on purpose: ``--flag=value``, and the blanks of JSON."""
    apart = [part for word in words for part in (word.split("=", 1) if re.match("--[a-z-]+=", word) else [word])]
    found = [parsed(word) for word in apart]
    return [word if tree is None else json.dumps(tree) for word, tree in zip(apart, found, strict=True)]


def _shown(meant: Answers, got: Answers) -> str:
    """Return what differs, if there is one call as it must be."""
    if len(got) != 1:
        return f"{len(got)} calls"
    pairs = zip(*([*words, *values] for words, values in (meant[0], got[0])), strict=False)
    return "; ".join(f"meant {one!r}, got {other!r}" for one, other in pairs if one != other)


@pytest.mark.parametrize("form", ASKED)
def test_a_form_means_what_its_reader_says(form: str) -> None:
    wrong, answers = [], 0
    for engine in _engines(form):
        files = FORMS[form].write(of_engines(engine))
        calls = None if files is None else asked(files, [name for name, _ in engine.env])
        if calls is None:
            continue
        answers += 1
        meant = [(_plain(("serve", *engine.words)), [value for _, value in engine.env])]
        got = [(_plain(words), list(values)) for words, values in calls]
        if got != meant:
            wrong.append(f"{engine.env[0][1]!r}: {_shown(meant, got)}")
    assert not wrong, f"{len(wrong)} of {answers} (PD_TEST_SEED={SEED})\n" + "\n".join(wrong[:3])
    assert answers or not WHOLE


def test_compose_itself() -> None:
    """``docker compose config`` shows what Compose reads, where it is installed."""
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker compose is not installed; PyYAML and Compose's manual stand in for it")
    for _, engine in named():
        files = FORMS["compose list"].write(of_engines(engine))
        assert files is not None
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "compose.yaml").write_text(files["compose.yaml"], encoding="utf-8")
            said = subprocess.run(
                [docker, "compose", "config", "--format", "json"], cwd=folder, capture_output=True, check=True
            )
        service = json.loads(said.stdout)["services"]["engine0"]
        undoubled = [word.replace("$$", "$") for word in service["command"]]
        assert undoubled == ["vllm", "serve", *engine.words]
