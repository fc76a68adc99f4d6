"""The plan's ``budget.from``: what decides, for each way to say a budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.schemas.core.units import GIB

PROFILE = """
version: 1
target: vllm-ascend=={target}
hardware: a3
model: /models/m
transfer: {{connector: MooncakeConnectorV1, kv_port: 36000}}
decode: {{parallel: {{tensor: 4, data: 2}}{more}}}
"""
WHOLE = (
    ', kv_transfer_config: {{"kv_connector": "{name}", "kv_role": "kv_consumer", '
    '"kv_connector_module_path": "pd_launch.connector"}}'
)


@pytest.mark.parametrize(
    ("more", "target", "source", "per_rank"),
    [
        (", offload: {per_rank: 16GiB}", "0.25.1rc1", "per_rank", 16 * GIB),
        (", offload: {per_engine: 64GiB}", "0.25.1rc1", "per_rank", 16 * GIB),
        (", offload: {per_node: 128GiB}", "0.25.1rc1", "per_rank", 16 * GIB),
        (", offload: {cpu_bytes_to_use: 68719476736}", "0.25.1rc1", "total", 16 * GIB),
        (", offload: {ratio: 0.5}", "0.25.1rc1", "ratio", None),
        (WHOLE.format(name="RecomputeCPUOffloadConnector"), "0.25.1rc1", "default_total", 2 * GIB),
        (WHOLE.format(name="PreemptOffloadConnector"), "0.28.0rc1", "default_ratio", None),
        ("", "0.25.1rc1", None, None),
    ],
)
def test_what_decides_the_budget(
    more: str, target: str, source: str | None, per_rank: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(PROFILE.format(target=target, more=more))
    result = CliRunner().invoke(cli, ["decode", "--profile", str(path), "--dry-run"])
    budget = json.loads(result.stdout)["budget"]
    assert (budget["from"], budget["per_rank_bytes"]) == (source, per_rank)
    per_engine = None if per_rank is None else 4 * per_rank
    assert (budget["per_engine_bytes"], budget["per_node_bytes"]) == (per_engine, per_engine and 2 * per_engine)


def test_the_contract_names_every_source() -> None:
    from pd_launch.schemas.plan import BudgetPlan

    sources = BudgetPlan.model_json_schema(by_alias=True)["properties"]["from"]["anyOf"][0]["enum"]
    text = (Path(__file__).parents[2] / "docs/contracts.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| `budget.from` |"))
    assert len(sources) == 5 and all(f"`{source}`" in row for source in sources)
