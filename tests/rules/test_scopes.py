"""What a rule looks at is what its letters say: the host, the release, both sides; and a launch asks all of it.

Every rule is run over every fixture, on a deployment that notes what it is asked for.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from pd_launch.launcher.check.run import check
from pd_launch.launcher.launch.prepare import LaunchOptions, prepare
from pd_launch.launcher.rules.registry import Rule, all_rules
from pd_launch.launcher.sources.profiles.shipped import find_profile
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.engine.sides import side_of
from pd_launch.schemas.finding import Finding
from tests.rules.test_fixtures import FIXTURES

ASKED = {"H": {"host", "fact"}, "R": {"target", "ascend"}}
"""What a rule with the letter reads of a deployment."""


class Recorder:
    """Stands for a deployment, and notes what it is asked for."""

    def __init__(self, deployment: Deployment, asked: set[str]) -> None:
        self._deployment = deployment
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        self._asked.add(name)
        return getattr(self._deployment, name)


def _hits(rule: Rule, deployment: Deployment, asked: set[str]) -> set[object]:
    recorder = cast("Deployment", Recorder(deployment, asked))
    return {(hit.origin, hit.message) for hit in rule.hits(recorder, deployment.nodes)}


def _seen() -> dict[str, set[str]]:
    """Return the letters of what each rule was seen to look at. P: what it finds is not in one of the sides."""
    letters: dict[str, set[str]] = defaultdict(set)
    for fixture in FIXTURES:
        for deployment in read_texts(fixture.files, target=fixture.target, host=fixture.host):
            sides = [
                replace(deployment, nodes=[node for node in deployment.nodes if side_of(node) == side])
                for side in {side_of(node) for node in deployment.nodes}
            ]
            for code, rule in all_rules().items():
                asked: set[str] = set()
                hits = _hits(rule, deployment, asked)
                letters[code] |= {letter for letter, names in ASKED.items() if names & asked}
                if len(sides) > 1 and hits - set().union(*(_hits(rule, side, set()) for side in sides)):
                    letters[code].add("P")
    return letters


def test_the_letters_of_a_rule_are_what_it_looks_at() -> None:
    said = {code: set(rule.needs.split()) for code, rule in all_rules().items()}
    seen = _seen()
    for letter in "HR":
        wrong = {code for code in said if (letter in said[code]) != (letter in seen[code])}
        assert not wrong, f"{letter}: said and not read, or read and not said"
    assert not {code for code in said if "P" in seen[code] - said[code]}, "they compare the sides, and do not say P"


PROFILES = ("a2-dp4tp2", "a3-dp2tp8", "a3-hybrid", "a3-moe-external", "cuda-nixl")
BROKEN: dict[str, dict[str, object]] = {
    "as shipped": {},
    "hash seeds of a pool": {
        "transfer": {"connector": "AscendStoreConnector", "backend": "mooncake"},
        "prefill.env": {"PYTHONHASHSEED": "0", "MOONCAKE_CONFIG_PATH": "/etc/mooncake.json"},
        "decode.env": {"PYTHONHASHSEED": "1", "MOONCAKE_CONFIG_PATH": "/etc/mooncake.json"},
    },
    "dtypes": {"decode.engine.dtype": "float16", "prefill.engine.dtype": "bfloat16"},
    "devices": {"decode.parallel.tensor": 64, "prefill.parallel.tensor": 64},
    "decode alone": {"decode.engine.max-num-seqs": 0, "decode.engine.gpu-memory-utilization": 7},
    "prefill alone": {"prefill.engine.max-num-seqs": 0, "prefill.engine.no-such-flag": 1},
    "both": {"decode.engine.no-such-flag": 1, "prefill.engine.no-such-flag": 1},
    "no connector": {"transfer.connector": "NoSuchConnector"},
}
"""What is set in a profile: mistakes of one side, of the other, of both, and between them."""


def _identity(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.line, finding.column, finding.severity, finding.message


def _broken(name: str, settings: dict[str, object]) -> str:
    profile = yaml.safe_load(find_profile(name).read_text(encoding="utf-8"))
    profile.setdefault("prefill", profile["decode"] | {"port": 9100})
    for path, value in settings.items():
        *parents, last = path.split(".")
        part = profile
        for parent in parents:
            part = part.setdefault(parent, {})
        part[last] = value
    return yaml.safe_dump(profile, sort_keys=False)


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("name", PROFILES)
def test_the_launches_of_both_sides_say_what_check_says(name: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(_broken(name, BROKEN[what]), encoding="utf-8")
    target = "vllm==0.32.0" if name.startswith("cuda") else "vllm-ascend==0.25.1rc1"
    said: set[tuple[object, ...]] = set()
    for side in ("prefill", "decode"):
        launch = prepare(LaunchOptions(side, str(path), dry_run=True, node_rank=0, target=parse_target(target)))
        said |= {_identity(finding) for finding in launch.findings}
    deployments = read_texts({str(path): path.read_text(encoding="utf-8")}, target=target)
    assert said or what in ("as shipped", "devices")
    assert said == {_identity(finding) for finding in check(deployments)}
