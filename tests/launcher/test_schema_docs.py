"""Every key of a profile is explained in the JSON Schema that editors read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from pd_launch.launcher.check.config import KEYS, ConfigError, find_config
from pd_launch.launcher.check.explain import UnknownCode, explain_json, find_rule, rules_json
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


def test_every_key_of_the_configuration_has_its_text_and_is_one() -> None:
    schema = json.loads(schema_text("config"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(schema["properties"]) == sorted(KEYS, key=list(schema["properties"]).index)
    assert all(entry.get("description") for entry in schema["properties"].values())


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ('target = "vllm==0.32.0"\nrequire-target = true\nselect = ["PD3"]\nfail-on = "info"\nlang = "zh"', True),
        (
            '[severity]\nPD406 = "error"\n[per-file-ignores]\n"a/*.sh" = ["PD001"]\n[[deployment]]\nfiles = ["*.sh"]',
            True,
        ),
        ('exclude = ["a/"]\nbaseline = "known.json"\nignore = []', True),
        ("selects = []", False),
        ('fail-on = "never"', False),
        ('lang = "de"', False),
        ('[severity]\nPD406 = "fatal"', False),
        ('[[deployment]]\nfile = ["a"]', False),
        ("target = 1", False),
        ('exclude = "a"', False),
        ('[per-file-ignores]\n"a" = "PD001"', False),
    ],
)
def test_the_schema_takes_what_the_reader_takes(tmp_path: Path, text: str, good: bool) -> None:
    (tmp_path / "pd-launch.toml").write_text(text)
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("config")))
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    assert validator.is_valid(tomllib.loads(text)) is good
    if good:
        assert find_config(tmp_path).path is not None
    else:
        with pytest.raises(ConfigError):
            find_config(tmp_path)


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


def test_a_family_of_rules_is_named_as_one() -> None:
    with pytest.raises(UnknownCode, match=r"^PD1 is a family of rules: PD101 to PD1\d\d; "):
        find_rule("pd1")
