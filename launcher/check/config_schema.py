"""The JSON Schema of ``pd-launch.toml``, for editors: each key with what it does."""

from __future__ import annotations

from typing import Any

_SEVERITY: dict[str, Any] = {"enum": ["error", "warning", "info"]}
_CODE = "Code (PD301), family (PD3) or name (budget-division) of a rule; pd-launch rules lists them"


def _list(description: str, item: str) -> dict[str, Any]:
    return {"description": description, "type": "array", "items": {"type": "string", "description": item}}


def config_schema() -> dict[str, Any]:
    """Return the schema; in pyproject.toml it counts for ``[tool.pd-launch]``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pd-launch.toml",
        "description": "Configuration of pd-launch check, looked for from the first file's folder upward",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "target": {
                "description": "Release to check for, where the input names none, such as vllm-ascend==0.25.1rc1 or"
                " vllm==0.32.0; a version alone is vllm-ascend's. A path is taken by --target only.",
                "type": "string",
                "examples": ["vllm-ascend==0.25.1rc1", "vllm==0.32.0"],
            },
            "require-target": {
                "description": "Whether an engine whose release nothing decides is an error (PD902).",
                "type": "boolean",
                "default": False,
            },
            "select": _list("Only these rules count; an empty list is all.", _CODE),
            "ignore": _list("All rules but these count.", _CODE),
            "fail-on": {
                "description": "The exit status is 1 from this severity on.",
                "default": "error",
                **_SEVERITY,
            },
            "severity": {
                "description": "Severities that are not the rules' own, by code.",
                "type": "object",
                "propertyNames": {"pattern": "^[Pp][Dd][0-9]{3}$"},
                "additionalProperties": {"description": "Severity of this rule's findings.", **_SEVERITY},
            },
            "per-file-ignores": {
                "description": "Rules that do not count in some files, by a pattern of the path or of the name alone.",
                "type": "object",
                "additionalProperties": _list("Rules that do not count in files of this pattern.", _CODE),
            },
            "lang": {
                "description": "Language of findings and messages; without it, the locale's.",
                "enum": ["en", "zh"],
            },
            "exclude": _list(
                "What is left out of folders, as in .gitignore, from this file's folder on.",
                "Pattern, such as examples/ or *.draft.yaml",
            ),
            "baseline": {
                "description": "File of known findings, from this file's folder; --write-baseline writes it.",
                "type": "string",
            },
            "deployment": {
                "description": "Files of a folder that are checked together, as the sides of one deployment.",
                "type": "array",
                "items": {
                    "description": "One deployment.",
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["files"],
                    "properties": {
                        "files": _list(
                            "Its files, as patterns of .gitignore, from this file's folder on.",
                            "Pattern, such as prod/*.sh",
                        )
                    },
                },
            },
        },
    }
