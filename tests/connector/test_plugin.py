"""The plugin that makes the connector's name enough: what it registers, where it keeps still, and that it never raises.

tests/engine/test_plugin_engine.py has the same in engines of fresh environments.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pd_launch import vllm_plugin
from pd_launch.schemas.engine.budget import OFFLOAD_NAMES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
FACTORY = "vllm.distributed.kv_transfer.kv_connector.factory"


class Factory:
    """As vLLM's: a name is registered once."""

    def __init__(self, **there: str) -> None:
        self._registry: dict[str, Any] = dict(there)

    def register_connector(self, name: str, module: str, class_name: str) -> None:
        if name in self._registry:
            raise ValueError(f"Connector '{name}' is already registered.")
        self._registry[name] = (module, class_name)


@pytest.fixture(autouse=True)
def no_ascend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of the contract may have put vllm-ascend's modules in place."""
    monkeypatch.delitem(sys.modules, "vllm_ascend", raising=False)
    found(monkeypatch, None)


def found(monkeypatch: pytest.MonkeyPatch, spec: ModuleSpec | None) -> None:
    monkeypatch.setattr(vllm_plugin.importlib.util, "find_spec", lambda name: spec)  # type: ignore[attr-defined]


def registered(monkeypatch: pytest.MonkeyPatch, factory: Any) -> dict[str, Any]:
    module = ModuleType(FACTORY)
    module.KVConnectorFactory = factory  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, FACTORY, module)
    vllm_plugin.register()
    vllm_plugin.register()  # vLLM may call it again
    return dict(factory._registry)


def test_both_names_are_registered_by_the_path_of_their_module(monkeypatch: pytest.MonkeyPatch) -> None:
    there = registered(monkeypatch, Factory(NixlConnector="theirs"))
    module = "pd_launch.connector.connector"
    assert there == {"NixlConnector": "theirs"} | {name: (module, name) for name in OFFLOAD_NAMES}
    assert vllm_plugin.CLASSES == OFFLOAD_NAMES


@pytest.mark.parametrize("name", OFFLOAD_NAMES)
def test_a_name_that_the_engine_has_stays_the_engines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = registered(monkeypatch, Factory(**{name: "theirs"}))
    assert there[name] == "theirs"
    assert there.keys() == set(OFFLOAD_NAMES)


def test_beside_vllm_ascend_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, ModuleSpec("vllm_ascend", None))
    assert registered(monkeypatch, Factory()) == {}
    found(monkeypatch, None)
    monkeypatch.setitem(sys.modules, "vllm_ascend", ModuleType("vllm_ascend"))  # it has no spec, as stand-ins have none
    assert registered(monkeypatch, Factory()) == {}


def test_vllm_ascend_is_not_imported_to_find_it(tmp_path: Path) -> None:
    (tmp_path / "vllm_ascend.py").write_text("raise SystemExit('imported')\n")
    code = "import sys; from pd_launch.vllm_plugin import register; register(); print(sorted(sys.modules))"
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"]
    listed = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    for module in ("vllm", "vllm_ascend", "pd_launch.connector", "pydantic"):
        assert f"'{module}'" not in listed


class Broken(Factory):
    def register_connector(self, *words: str) -> None:
        raise TypeError("other arguments now")


@pytest.mark.parametrize("factory", [Broken(), object()])
def test_an_engine_that_cannot_take_it_starts_all_the_same(
    factory: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = ModuleType(FACTORY)
    module.KVConnectorFactory = factory  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, FACTORY, module)
    logger = logging.getLogger("vllm.pd_launch.vllm_plugin")
    monkeypatch.setattr(logging.getLogger("vllm"), "propagate", True)
    with caplog.at_level(logging.WARNING, logger.name):
        vllm_plugin.register()
    assert 'kv_connector_module_path "pd_launch.connector"' in caplog.text


def test_vllm_finds_it_under_the_name_that_VLLM_PLUGINS_lists() -> None:  # noqa: N802
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert points == {"vllm.general_plugins": {vllm_plugin.NAME: "pd_launch.vllm_plugin:register"}}
