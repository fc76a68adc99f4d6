"""Makefiles: what make fills into a recipe before a shell sees it, and what of that is not known."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from tests.sources.reading import at, deployment, flag, launch, value, variables


def made(lines: str, recipe: str = "vllm serve m --port $(PORT)") -> str:
    return f"{lines}\ndecode:\n\t{recipe}\n"


@pytest.mark.parametrize(
    ("lines", "port"),
    [
        ("PORT = 8100", "8100"),
        ("PORT := 8100  # ours", "8100"),
        ("BASE = 81\nPORT = $(BASE)00", "8100"),
        ("PORT = ${BASE}00\nBASE = 81", "8100"),
        ("PORT ?= 8100", None),
        ("PORT = 8100\nPORT += 1", "8100"),
        ("PORT != cat port", None),
        ("ifdef X\nPORT = 8100\nendif", None),
        ("PORT = $(shell cat port)", None),
        ("PORT = $(PORT)", None),
        ("define PORT\n8100\nendef", "8100"),
        ("", None),
    ],
)
def test_variables(lines: str, port: str | None) -> None:
    node, _ = launch(made(lines), "Makefile")
    assert flag(node, "port").value == port if port else not flag(node, "port").known


def test_a_doubled_sign_is_the_shells() -> None:
    node, _ = launch(made("", "X=5; vllm serve m --port $$X --max-num-seqs $X"), "Makefile")
    assert value(node, "port") == "5" and not flag(node, "max-num-seqs").known


def test_each_line_is_a_shell_of_its_own() -> None:
    node, _ = launch(made("", "X=5\n\t@-vllm serve m \\\n\t  --port $$X"), "Makefile")
    assert not flag(node, "port").known


def test_only_what_is_exported_reaches_the_engine() -> None:
    lines = "export A := 1\nB = 2\nC = 3\nexport C\n"
    assert variables(launch(made(lines), "Makefile")[0]) == {"A": "1", "C": "3"}
    assert set(variables(launch(made(f"{lines}export\n"), "Makefile")[0])) == {"A", "B", "C"}


def test_make_gives_further_variables() -> None:
    assert launch(made(""), "Makefile")[0].env_open is not None


def test_a_target_names_the_side_and_places_are_those_of_the_file() -> None:
    found = deployment({"Makefile": "prefill: deps\n\tvllm serve p --port 1\n\ndecode:\n\tvllm serve d --port 2\n"})
    assert [node.side for node in found.nodes] == ["prefill", "decode"]
    assert at(found, flag(found.nodes[1], "port").origin) == (5, "2")


def test_a_fix_writes_the_sign_as_make_needs_it() -> None:
    text = made("", "vllm serve m --served-model-name $$HOME --max-num-seqss 4")
    [finding] = [f for f in check(read_texts({"Makefile": text})) if f.code == "PD004"]
    assert finding.line == 3 and finding.fix is not None


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\nif true; then\n\tvllm serve m --port 5\nfi\n",
        "case $1 in\n*)\n\tvllm serve m --port 5;;\nesac\n",
        "run() {\n\tvllm serve m --port 5\n}\nrun\n",
    ],
)
def test_a_script_with_tabs_is_none(text: str) -> None:
    assert "makefile" not in deployment({"serve": text}).forms
    assert value(launch(text, "serve")[0], "port") == "5"


WRONG = "vllm serve X --tensor-parallel-sizee 8"


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        ("define C\n@\nendef\nrun:\n\t$(C)\n", ["PD004"]),
        (".ONESHELL:\nrun:\n\tC='@'\n\t$$C\n", ["PD004"]),
        ("run:\n\t$(call C,X)\nC=vllm serve $(1) --tensor-parallel-sizee 8\n", ["PD004"]),
        ("C=vllm serve X\nC+=--tensor-parallel-sizee 8\nrun:\n\t$(C)\n", ["PD004"]),
        ("C?=@\nrun:\n\t$(C)\n", ["PD014"]),
        ('C?=@\nD=A=1 $(C)\nrun:\n\tbash -c "$(C)"\n', ["PD014"]),
        ("C!=echo @\nrun:\n\t$(C)\n", ["PD014"]),
        ("$(eval C=@)\nrun:\n\t$(C)\n", ["PD014"]),
        ("run:\n\t$(foreach i,1 2,@;)\n", ["PD014"]),
        ("MSG?=@\nrun:\n\techo $(MSG)\n\t$(PY) x\n", []),
        ("run:\n\t$(info @)\n", []),
        ("define H\nusage: @\nendef\nhelp:\n\t@echo '$(H)'\n".replace("@echo", "echo"), []),
    ],
)
def test_what_make_puts_together_is_followed_or_said(lines: str, codes: list[str]) -> None:
    text = "ok:\n\tvllm serve ok\n" + lines.replace("@", WRONG)
    assert [f.code for f in check(read_texts({"Makefile": text}, target="vllm:0.32.0"))] == codes


def test_variables_that_would_grow_without_bound_are_bounded() -> None:
    lines = "A0=x\n" + "".join(f"A{i}=" + f"$(A{i - 1})" * 100 + "\n" for i in range(1, 7))
    node, _ = launch(made(lines, "vllm serve m --port $(A6)"), "Makefile")
    assert not flag(node, "port").known
