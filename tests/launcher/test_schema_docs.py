"""Every key of a profile is explained in the JSON Schema that editors read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pd_launch.launcher.commands.rules import schema_text


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
