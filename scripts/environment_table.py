"""Write the table of vLLM's environment variables from its envs.py in several releases.

Usage: python scripts/environment_table.py 0.18.0=WHEEL_OR_ENVS_PY 0.23.0=… > schemas/releases/environment.json

For each variable: the first of the given releases that reads it, the first that no longer does (null: none), and how
its text is read, where the source tells and all of them agree; choices are those of all releases.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any


def source_of(path: Path) -> str:
    """Return the text of envs.py, given itself or a wheel that holds it."""
    if path.suffix != ".whl":
        return path.read_text(encoding="utf-8")
    with zipfile.ZipFile(path) as wheel:
        return wheel.read("vllm/envs.py").decode("utf-8")


def variables(text: str) -> dict[str, Any]:
    """Return each variable of the table in envs.py with its kind: a word, a list of choices, or None."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id == "environment_variables":
                pairs = zip(node.value.keys, node.value.values, strict=True)
                return {str(k.value): kind_of(v, str(k.value)) for k, v in pairs if isinstance(k, ast.Constant)}
    raise SystemExit("no table of environment variables found")


def kind_of(value: ast.expr, name: str) -> Any:
    """Return how a variable's text is read."""
    text = ast.unparse(value)
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "env_with_choices":
        return choices_of(value)
    read = rf"os\.(?:getenv|environ\.get)\('{re.escape(name)}'(?:, [^()]*)?\)"
    forms = {
        "flag": rf"lambda: (?:bool\(int\({read}\)\)|maybe_convert_bool\({read}\))",
        "int": rf"lambda: (?:int\({read}\)|maybe_convert_int\({read}\))",
        "float": rf"lambda: float\({read}\)",
        "true": rf"lambda: {read}(?:\.strip\(\))?\.lower\(\) in \('(?:true', '1|1', 'true)'\)",
        "one": rf"lambda: {read} == '1'",
    }
    return next((kind for kind, form in forms.items() if re.fullmatch(form, text)), None)


def choices_of(call: ast.Call) -> list[str] | None:
    """Return the choices of an ``env_with_choices``; lower case where case does not matter."""
    try:
        choices = ast.literal_eval(call.args[2])
    except (ValueError, IndexError):
        return None
    if not isinstance(choices, (list, tuple)):
        return None
    loose = any(k.arg == "case_sensitive" and ast.unparse(k.value) == "False" for k in call.keywords)
    return [c.lower() for c in choices] + ["~"] if loose else list(choices)


def _both(old: Any, new: Any) -> Any:
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *(choice for choice in new if choice not in old)]
    return new if old == new else None


def main(arguments: list[str]) -> None:
    """Print the table."""
    tables = {version: variables(source_of(Path(path))) for version, _, path in (a.partition("=") for a in arguments)}
    found: dict[str, list[Any]] = {}
    for version, table in tables.items():
        for name, kind in table.items():
            earlier = found.get(name)
            found[name] = [version, None, kind] if earlier is None else [earlier[0], None, _both(earlier[2], kind)]
        for name, row in found.items():
            if name not in table and row[1] is None:
                row[1] = version
    rows = (f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(found.items()))
    print('{\n  "releases": ' + json.dumps(list(tables)) + ',\n  "variables": {\n' + ",\n".join(rows) + "\n  }\n}")


if __name__ == "__main__":
    main(sys.argv[1:])
