"""docs/alerts.yaml and docs/grafana.json under Prometheus' own programs: rules checked, alerts played, pages scraped.

Needs ``promtool`` and ``prometheus`` on PATH or in the folder that PD_PROMETHEUS names: scripts/setup_prometheus.sh
fetches them on Debian and Ubuntu.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ports import free_ports
from tests.status.served import served

DOCS = Path(__file__).resolve().parents[2] / "docs"
_PATH = os.pathsep.join([os.environ.get("PD_PROMETHEUS", ""), os.environ.get("PATH", "")])
PROMTOOL, PROMETHEUS = shutil.which("promtool", path=_PATH), shutil.which("prometheus", path=_PATH)
pytestmark = pytest.mark.skipif(PROMTOOL is None or PROMETHEUS is None, reason="needs promtool and prometheus")
OURS = "pd_launch:preempt_offload_"
LABELS = 'engine="0",instance="d",job="j",model_name="m"'


def promtool(*words: str | Path) -> str:
    done = subprocess.run([str(PROMTOOL), *map(str, words)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def expressions() -> list[str]:
    """Return the dashboard's expressions with what Grafana puts in place of its variables."""
    panels = json.loads((DOCS / "grafana.json").read_text("utf-8"))["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    return [re.sub(r"\$__rate_interval", "1m", re.sub(r"\$(job|model)\b", ".*", text)) for text in found]


def test_rules_and_panels_are_what_prometheus_reads(tmp_path: Path) -> None:
    assert "5 rules found" in promtool("check", "rules", DOCS / "alerts.yaml")
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(expressions())]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", tmp_path / "panels.yaml")


def series(name: str, values: str, more: str = "") -> dict[str, str]:
    return {"series": f"{name}{{{LABELS}{more}}}", "values": values}


PLAYED: dict[str, tuple[list[dict[str, str]], str | None]] = {
    "half of the victims find no room": (
        [
            series("vllm:num_preemptions_total", "0+6x60"),
            series(OURS + "parked_total", "0+3x60"),
            series(OURS + "fallback_total", "0+3x60", ',reason="pool_full"'),
        ],
        "PreemptOffloadPoolFull",
    ),
    "a copy fails": (
        [series(OURS + "fallback_total", "0x50 1x10", ',reason="save_failed"')],
        "PreemptOffloadCopiesFail",
    ),
    "nothing is saved": (
        [series("vllm:num_preemptions_total", "0+6x60"), series(OURS + "parked_total", "0x60")],
        "PreemptOffloadSavesNothing",
    ),
    "one waits while the engine stands still": (
        [series(OURS + "oldest_parked_since_seconds", "1200x60"), series(OURS + "oldest_parked_seconds", "0.5x60")],
        "PreemptOffloadRequestWaitsLong",
    ),
    "many preemptions": (
        [series("vllm:num_preemptions_total", "0+120x60"), series(OURS + "parked_total", "0+120x60")],
        "PreemptOffloadThrashing",
    ),
    "all is well": (
        [
            series("vllm:num_preemptions_total", "0+6x60"),
            series(OURS + "parked_total", "0+6x60"),
            series(OURS + "restored_total", "0+6x60"),
            series(OURS + "fallback_total", "0+6x60", ',reason="superseded"'),
            series(OURS + "oldest_parked_since_seconds", "0x60"),
        ],
        None,
    ),
}


@pytest.mark.parametrize("name", PLAYED)
def test_alerts_fire_when_they_should_and_no_other(name: str, tmp_path: Path) -> None:
    given, wanted = PLAYED[name]
    names = [r["alert"] for g in yaml.safe_load((DOCS / "alerts.yaml").read_text())["groups"] for r in g["rules"]]
    # Asked for by count: whatever an alert says in its texts is another test's matter.
    asked = [
        {
            "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})',
            "eval_time": "55m",
            "exp_samples": [{"labels": "{}", "value": 1}] if alert == wanted else [],
        }
        for alert in names
    ]
    test = {
        "rule_files": [str(DOCS / "alerts.yaml")],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": given, "promql_expr_test": asked}],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    promtool("test", "rules", tmp_path / "test.yaml")


@pytest.mark.slow
def test_a_real_scrape_feeds_every_panel(tmp_path: Path) -> None:
    with served("reset-decode") as (engine,):
        port = free_ports(1)
        scrape = {
            "job_name": "vllm",
            "scrape_interval": "1s",
            "static_configs": [{"targets": [engine.url.removeprefix("http://")]}],
        }
        config = {"global": {"evaluation_interval": "1s"}, "rule_files": [str(DOCS / "alerts.yaml")]}
        (tmp_path / "prometheus.yml").write_text(yaml.safe_dump({**config, "scrape_configs": [scrape]}))
        server = subprocess.Popen(
            [
                str(PROMETHEUS),
                f"--config.file={tmp_path / 'prometheus.yml'}",
                f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _until(lambda: len(query(port, "count_over_time(vllm:num_preemptions_total[1m]) > 2")) == 1)
            preempted = query(port, "vllm:num_preemptions_total")
            assert [one["value"][1] for one in preempted] == ["19"]
            for text in expressions():
                assert query(port, text), text
            rules = json.loads(_get(port, "/api/v1/rules"))["data"]["groups"]
            assert all(rule["health"] == "ok" for group in rules for rule in group["rules"])
        finally:
            server.terminate()
            server.wait(30)


def _get(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return bytes(answer.read())


def query(port: int, text: str) -> list[dict[str, Any]]:
    found = json.loads(_get(port, f"/api/v1/query?query={urllib.parse.quote(text)}"))
    assert found["status"] == "success"
    return list(found["data"]["result"])


def _until(ready: Any) -> None:
    end = time.monotonic() + 90
    while True:
        try:
            if ready():
                return
        except OSError:
            pass
        assert time.monotonic() < end
        time.sleep(0.3)
