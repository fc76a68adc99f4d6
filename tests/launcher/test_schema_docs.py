"""Every key of a profile is explained in the JSON Schema that editors read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from pd_launch.launcher.check.explain import explain_json, find_rule, rules_json
from pd_launch.launcher.cli import cli
from pd_launch.launcher.commands.rules import schema_text
from pd_launch.launcher.rules.registry import all_rules


def undescribed(name: str) -> list[str]:
    schema: dict[str, Any] = json.loads(schema_text(name))
    parts = {"": schema, **schema.get("$defs", {})}
    return [
        f"{part}.{field}"
        for part, body in parts.items()
        for field, entry in body.get("properties", {}).items()
        if "description" not in entry
    ]


def test_every_profile_key_has_its_text() -> None:
    assert undescribed("profile") == []
    schema = json.loads(schema_text("profile"))
    assert schema["properties"]["model"]["description"] == "Path or hub name of the model."
    assert schema["$defs"]["DecodeSection"]["properties"]["port"]["description"] == "HTTP port of the first engine."
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", ["report", "plan"])
def test_descriptions_of_the_other_contracts_are_kept(name: str) -> None:
    assert "Stable code of the rule, such as PD301" in schema_text(name)


def test_schemas_exports_its_contracts() -> None:
    from pd_launch import schemas

    assert [getattr(schemas, name).__name__ for name in schemas.__all__] == schemas.__all__
    assert set(schemas.__all__) <= set(dir(schemas))
    with pytest.raises(AttributeError, match="Nothing"):
        _ = schemas.Nothing


def test_rules_and_pages_carry_their_version() -> None:
    for shown in (explain_json(find_rule("PD301"), "en"), rules_json("zh")):
        assert json.loads(shown)["format_version"] == 1
    assert [rule["code"] for rule in json.loads(rules_json("en"))["rules"]] == list(all_rules())


def test_what_logs_prints_fits_its_schema(tmp_path: Path) -> None:
    (tmp_path / "e.log").write_text("INFO vLLM API server version 0.32.0\n")
    done = CliRunner().invoke(cli, ["logs", "--format", "json", str(tmp_path / "e.log")])
    jsonschema.validate(json.loads(done.output), json.loads(schema_text("logs")))
