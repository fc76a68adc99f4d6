"""What no reader took in is said beside an engine that is read, and what only speaks of an engine stays silent."""

from __future__ import annotations

import pytest

from pd_launch.launcher.sources.read import read_texts
from tests.sources.test_ways_to_start import RIGHT, found, written

FOLLOWED = (
    "ln -s $(which vllm) x\n./x serve @A\n",
    "ln -sf /usr/bin/vllm /usr/local/bin/x\nx serve @A\n",
    "cp /usr/bin/vllm /tmp/x && /tmp/x serve @A\n",
    "hash -p /usr/bin/vllm v\nv serve @A\n",
    "socat TCP-LISTEN:80 EXEC:'@E'\n",
    "socat TCP-LISTEN:80 SYSTEM:'@E'\n",
    "git bisect run @E\n",
    "git rebase --exec '@E' main\n",
    "cat > start.env <<'E'\n@E\nE\nBASH_ENV=start.env bash -c true\n",
    "cat > start.env <<'E'\n@E\nE\nexport BASH_ENV=start.env\nbash other\n",
    "printf '#!/bin/bash\\n@E\\n' > r\n",
    "cat > r.sh <<< '@E'; bash r.sh\n",
    "cat < in >| r.sh 2> /dev/null <<< '@E'\n",
    "cat > r.sh <<'E' 2> /dev/null\n@E\nE\n",
    "bash 2>&1 <<< '@E'\n",
    "cat > F.yaml <<'E'\nmodel: X\ntensor-parallel-sizee: 8\nE\nvllm serve --config F.yaml\n",
    "cat > /tmp/F.yaml <<E\nmodel: $M\ntensor-parallel-sizee: 8\nE\nvllm serve --config /tmp/F.yaml\n",
)
SAID = (
    "while read -r l; do $l; done <<< '@E'\n",
    "{ read -r l; $l; } > log <<< '@E'\n",
    "socat TCP-LISTEN:80 EXEC:'@E',pty\n",
    "if x; then f() { @E; }; else f() { vllm serve ok; }; fi\nf\n",
    'perl -e \'exec("vllm", "serve", "X")\'\n',
    "python -c 'from vllm import LLM; LLM(\"X\"'\n",
)
SILENT = (
    "grep -q vllm > /dev/null <<< 'vllm serve X --portt 1'\n",
    "ln -s $(which vllm) x\n",
    "ln -s /opt/tool x\n./x serve X --portt 1\n",
    "cp vllm.log /tmp/x\n/tmp/x serve X --portt 1\n",
    "git bisect start\ngit log --grep 'vllm serve X --portt 1'\n",
    "notify 'vllm serve is up'\n",
    "wait_for 'vllm serve'\n",
    "step 'Start vllm serve and wait'\n",
    "BASH_ENV=start.env bash -c true\n",
    "X=a\nif [ $X = b ]; then vllm serve ok --seed 1; fi\n",
    "cat > F.yaml <<'E'\nmodel: X\ntensor-parallel-sizee: 8\nE\n",
)


@pytest.mark.parametrize("form", FOLLOWED)
def test_an_engine_is_read(form: str) -> None:
    assert [code for code, _ in found(RIGHT + written(form))] == ["PD004"]


@pytest.mark.parametrize("form", SAID)
def test_an_engine_that_no_reader_took_in_is_said(form: str) -> None:
    assert [code for code, _ in found(RIGHT + written(form))] == ["PD014"]


@pytest.mark.parametrize("form", SILENT)
def test_what_starts_none_is_silent(form: str) -> None:
    assert found(RIGHT + form) == []


def sizes(text: str, name: str) -> list[object]:
    (deployment,) = read_texts({name: text}, "vllm:0.32.0")
    values = [node.value("tensor-parallel-size") for node in deployment.nodes]
    return [value and (value.value if value.known else "unknown") for value in values]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("run: TP = 3\nrun:\n\t@\n", ["3"]),
        ("run: TP := 3\nrun: x\n\t@\n", ["3"]),
        ("run: private TP = 3\nrun:\n\t@\n", ["3"]),
        ("run: export TP = 3\nrun:\n\t@\n", ["3"]),
        ("run: TP = 3\nrun:\n\t@\nother:\n\t@\n", ["3", "1"]),
        ("run: TP = 3\nrun: inner\n\ttrue\ninner:\n\t@\n", ["unknown"]),
        ("run: TP = 3\nrun: a\n\ttrue\na: inner\n\ttrue\ninner:\n\t@\n", ["unknown"]),
        ("%.x: TP = 3\nrun:\n\t@\n", ["unknown"]),
        ("a run: TP = 3\na run:\n\t@\n", ["unknown"]),
        ("run: ; @\nother:\n\ttrue\n", ["1"]),
        ("run: dep; @\nother:\n\t@\n", ["1", "1"]),
    ],
)
def test_variables_of_one_target_and_recipes_behind_targets(rules: str, expected: list[object]) -> None:
    text = f"TP = 1\n{rules}".replace("@", "vllm serve m --tensor-parallel-size $(TP)")
    assert sizes(text, "Makefile") == expected


BASE = "FROM vllm/vllm-openai:v0.11.0\n"
OWN = 'CMD ["--model", "ok", "--tensor-parallel-size", "1"]\n'


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"HEALTHCHECK CMD curl -f http://localhost:8000/health\n{OWN}", ["1"]),
        (f"{OWN}HEALTHCHECK --interval=5m \\\n  CMD curl x\n", ["1"]),
        (f"{OWN}HEALTHCHECK NONE\n", ["1"]),
        (f"{OWN}HEALTHCHECK CMD vllm serve m --tensor-parallel-size 3\n", ["1", "3"]),
        (f'{OWN}HEALTHCHECK --retries=3 CMD ["vllm", "serve", "m", "--tensor-parallel-size", "3"]\n', ["3", "1"]),
        (f'{OWN}ONBUILD CMD ["vllm", "serve", "m", "--tensor-parallel-size", "3"]\n', ["3", "1"]),
        (f"RUN printf '#!/bin/sh\\nvllm serve m --tensor-parallel-size 3\\n' > /s.sh\n{OWN}", ["1", "3"]),
        (f"RUN pip install vllm && echo 'vllm serve m'\n{OWN}", ["1"]),
    ],
)
def test_every_instruction_of_a_dockerfile_is_looked_at(lines: str, expected: list[object]) -> None:
    assert sizes(BASE + lines, "Dockerfile") == expected


def test_what_is_after_a_line_that_is_no_instruction_is_said() -> None:
    text = f"{BASE}{OWN}CDM x\nCMD vllm serve m --tensor-parallel-sizee 3\n"
    assert found(text, "Dockerfile") == [("PD014", 4)]
    assert found(f"{BASE}{OWN}CDM x\nCMD sleep 1\n", "Dockerfile") == []
