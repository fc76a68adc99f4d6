"""JSON Schema with the texts below a model's fields as descriptions.

pydantic can do this when a class is made, but then every start reads and parses the source again.
"""

from __future__ import annotations

import ast
import inspect
import sys
from typing import Any

from pydantic import BaseModel


def described_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the model's JSON Schema; a field without a description has the text that is below it in the source."""
    schema = model.model_json_schema(by_alias=True)
    module = sys.modules[model.__module__]
    texts = _field_texts(inspect.getsource(module))
    for name, part in ((model.__name__, schema), *schema.get("$defs", {}).items()):
        owners = getattr(vars(module).get(name), "__mro__", ())
        for field, entry in part.get("properties", {}).items():
            found = next((texts[o.__name__, field] for o in owners if (o.__name__, field) in texts), None)
            if found is not None:
                entry.setdefault("description", found)
    return schema


def _field_texts(source: str) -> dict[tuple[str, str], str]:
    texts: dict[tuple[str, str], str] = {}
    for cls in ast.parse(source).body:
        if not isinstance(cls, ast.ClassDef):
            continue
        for field, text in zip(cls.body, cls.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            ):
                texts[cls.name, field.target.id] = inspect.cleandoc(text.value.value)
    return texts
