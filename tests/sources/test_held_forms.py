"""Forms inside other forms: manifests in ConfigMaps, checks of health, Dockerfiles in compose, blocks of documents."""

from __future__ import annotations

import json

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.values import Origin

WRONG = "vllm serve X --tensor-parallel-sizee 8"
LISTED = "[vllm, serve, X, --tensor-parallel-sizee, '8']"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: a, image: i, command: @C}\n"
MAP = POD.replace("@C", "[vllm, serve, ok]") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n"
COMPOSE = "services:\n  a: {image: i, command: vllm serve ok --port 8123}\n  b:\n    image: i\n"
GUIDE = "# T\n\n```bash\nvllm serve ok --port 8123\n```\n\n"
WORKFLOW = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n    - run: vllm serve ok --port 8123\n"


def found(text: str, name: str) -> list[tuple[str, int]]:
    findings = check(read_texts({name: text.replace("@L", LISTED).replace("@", WRONG)}, target="vllm:0.32.0"))
    assert all(finding.file == name for finding in findings)
    return [(finding.code, finding.line) for finding in findings]


def notebook(*cells: str) -> str:
    code = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell}
        for cell in ("!vllm serve ok --port 8123", *cells)
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code}, indent=1)


INNER = "".join(f"    {line}\n" for line in POD.replace("@C", "@L").splitlines())
JSON = json.dumps(
    {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "command": WRONG.split()}]}}
)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.yaml", f"{MAP}  p.yaml: |\n{INNER}", 18),
        ("a.yaml", f"{MAP}  p.json: '{JSON}'\n", 12),
        ("a.yaml", f"{COMPOSE}    healthcheck: {{test: [CMD-SHELL, '@']}}\n", 5),
        ("a.yaml", f"{COMPOSE}    healthcheck: {{test: '@'}}\n", 5),
        ("a.yaml", f"{COMPOSE}    healthcheck: {{test: [CMD, vllm, serve, X, --tensor-parallel-sizee, '8']}}\n", 5),
        ("a.yaml", f"{COMPOSE}    build:\n      dockerfile_inline: |\n        FROM x\n        CMD @\n", 8),
        ("a.md", f"{GUIDE}```python\nimport os\nos.system('@')\n```\n", 9),
        ("a.md", f"{GUIDE}```dockerfile\nFROM vllm/vllm-openai\nCMD @\n```\n", 9),
        ("a.md", f'{GUIDE}```json\n{{"command": "@"}}\n```\n', 8),
        ("a.yml", f"{WORKFLOW}    - shell: python\n      run: |\n        import os\n        os.system('@')\n", 10),
    ],
)
def test_what_another_form_holds_is_followed(name: str, text: str, line: int) -> None:
    assert found(text, name) == [("PD004", line)]
    right = text.replace("@L", LISTED).replace("@", WRONG).replace("--tensor-parallel-sizee", "--seed")
    assert found(right, name) == []


@pytest.mark.parametrize("run", ["!{c}", "!$c"])
def test_a_cell_that_runs_what_another_made_is_said(run: str) -> None:
    assert [code for code, _ in found(notebook("c='@'", run), "a.ipynb")] == ["PD014"]


@pytest.mark.parametrize("language", ["perl", "ruby", "script perl", "js"])
def test_a_cell_of_a_language_that_is_not_followed_is_said(language: str) -> None:
    assert [code for code, _ in found(notebook(f"%%{language}\nsystem('@')"), "a.ipynb")] == ["PD014"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ipynb", notebook("%%markdown\nRun\n@")),
        ("a.ipynb", notebook("c='@'\nprint(c)")),
        ("a.yaml", f"{COMPOSE}    healthcheck: {{test: [CMD-SHELL, 'pgrep -f \"@\"']}}\n"),
        ("a.yaml", f"{MAP}  p.yaml: |\n    kind: [\n    vllm\n"),
        ("a.yaml", f"{MAP}  note.yaml: |\n    text: see vllm serve\n"),
        ("a.md", f"{GUIDE}```python\nfor x in y\n  vllm(\n```\n"),
        ("a.md", f'{GUIDE}```json\n{{"vllm": }}\n```\n'),
    ],
)
def test_what_starts_nothing_is_silent(name: str, text: str) -> None:
    assert found(text, name) == []


@pytest.mark.parametrize("text", ["{fd}>l vllm serve X --seed 3\n", "{log}>>x vllm serve X --seed 3 &\nexec {a}<&-\n"])
def test_a_number_that_the_shell_chooses_is_no_word(text: str) -> None:
    assert found(text, "a.sh") == []
    assert found(text.replace("--seed", "--tensor-parallel-sizee"), "a.sh") == [("PD004", 1)]


@pytest.mark.parametrize("name", ["--seed", "--tensor-parallel-sizee"])
def test_a_key_with_a_blank_needs_no_quotes(name: str) -> None:
    text = f"declare -A C=(['a b']='{name} 8')\nvllm serve X ${{C[a b]}}\n"
    assert [code for code, _ in found(text, "a.sh")] == ([] if name == "--seed" else ["PD004"])


def test_places_of_a_container_in_a_held_manifest_are_those_of_the_file() -> None:
    [deployment] = read_texts({"a.yaml": f"{MAP}  p.yaml: |\n{INNER}".replace("@L", LISTED)})
    container = deployment.nodes[-1].container
    assert container is not None and isinstance(container.origin, Origin) and container.origin.file == "a.yaml"
