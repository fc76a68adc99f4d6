"""docs/grafana.json and docs/alerts.yaml name series that exist, with labels that they have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("vllm.distributed.kv_transfer.kv_connector.v1.metrics")

from pd_launch.connector.metrics import COUNTERS, FALLBACKS, GAUGES, PREFIX
from pd_launch.schemas.offload.reasons import REASONS

DOCS = Path(__file__).resolve().parents[2] / "docs"
OURS = {PREFIX + name for name, _ in (*COUNTERS.values(), *GAUGES.values())} | {PREFIX + "fallback_total"}
VLLMS = {"vllm:num_preemptions_total"}
LABELS = {"job", "instance", "engine", "model_name", "reason"}


def dashboard() -> dict[str, Any]:
    return dict(json.loads((DOCS / "grafana.json").read_text(encoding="utf-8")))


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DOCS / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> list[str]:
    panels = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return panels + [rule["expr"] for rule in alerts()]


def series(expression: str) -> set[str]:
    return set(re.findall(r"(?:pd_launch|vllm):\w+", expression))


@pytest.mark.parametrize("expression", expressions())
def test_series_and_labels_exist(expression: str) -> None:
    assert series(expression) and series(expression) <= OURS | VLLMS
    for labels in re.findall(r"\{([^}]*)\}", expression):
        assert set(re.findall(r"(\w+)=~?", labels)) <= LABELS
    for labels in re.findall(r"(?:by|on) \(([^)]*)\)", expression):
        assert set(labels.split(", ")) <= LABELS
    for reasons in re.findall(r'reason=~"([^"]*)"', expression):
        assert set(reasons.split("|")) <= set(FALLBACKS)
    assert expression.count("(") == expression.count(")")
    for counter in re.findall(r"(?:pd_launch|vllm):\w+_total\b(?!s)", expression):
        if not counter.endswith("pool_blocks_total"):
            assert re.search(rf"(?:rate|increase)\({counter}", expression), f"{counter} is a counter"


def test_every_series_of_ours_is_shown_in_a_panel() -> None:
    shown = set().union(*(series(t["expr"]) for panel in dashboard()["panels"] for t in panel["targets"]))
    assert shown >= OURS


def test_every_alert_says_what_to_do() -> None:
    assert len({rule["alert"] for rule in alerts()}) == len(alerts()) >= 4
    for rule in alerts():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]


def test_panels_are_told_apart_and_fit() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    names = {variable["name"] for variable in dashboard()["templating"]["list"]}
    assert set(re.findall(r"\$(\w+)", " ".join(expressions()))) - {"__rate_interval", "labels"} <= names


def test_the_log_reader_has_words_for_every_reason() -> None:
    from pd_launch.launcher.verdicts.fallbacks import FALLBACKS as WORDS

    assert {reason for reason in FALLBACKS if not REASONS[reason].wanted} <= set(WORDS)
