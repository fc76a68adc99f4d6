"""What the installed vLLM says to a command line: its own parser, config classes and connector factory, no engine."""

from __future__ import annotations

import argparse
import contextlib
import io
import types
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from pd_launch.schemas.engine.budget import OFFLOAD_NAMES


@dataclass(frozen=True)
class Verdict:
    """Whether the engine takes a command line; ``stage`` and ``reason`` say where and why it does not."""

    accepts: bool
    stage: str = ""
    reason: str = ""


@cache
def parser() -> Any:
    """Return the parser of the ``vllm`` command with its subcommand ``serve``, as the program builds it."""
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    top = FlexibleArgumentParser(description="vLLM CLI")
    serve = ServeSubcommand()
    serve.subparser_init(top.add_subparsers(required=False, dest="subparser"))
    return top, serve


def judge(words: list[str]) -> Verdict:
    """Return the engine's verdict on the words behind ``vllm``; the first is ``serve``."""
    top, serve = parser()
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            options = top.parse_args(list(words))
            serve.validate(options)
    except SystemExit as stop:
        last = said.getvalue().strip().splitlines()[-1:] or [""]
        return Verdict(stop.code == 0, "parser", last[0][:200])
    except Exception as error:  # noqa: BLE001 - every refusal counts, whatever its type
        return Verdict(False, "parser", f"{type(error).__name__}: {error}"[:200])
    for stage, check in (("config", check_configs), ("connector", check_connectors)):
        try:
            check(options)
        except Exception as error:  # noqa: BLE001
            return Verdict(False, stage, f"{type(error).__name__}: {error}"[:200])
    return Verdict(True)


def check_configs(options: argparse.Namespace) -> None:
    """Build the config classes that need no model from what the command line gives."""
    from vllm.config import (
        CacheConfig,
        MultiModalConfig,
        ObservabilityConfig,
        ParallelConfig,
        SchedulerConfig,
        SpeculativeConfig,
        UVAOffloadConfig,
    )
    from vllm.engine.arg_utils import AsyncEngineArgs

    given = {
        entry.name: getattr(options, entry.name) for entry in fields(AsyncEngineArgs) if hasattr(options, entry.name)
    }
    defaults = {entry.name: entry.default for entry in fields(AsyncEngineArgs)}
    changed = {name: value for name, value in given.items() if value != defaults.get(name)}
    needed: dict[type[Any], dict[str, Any]] = {
        ParallelConfig: {},
        CacheConfig: {},
        MultiModalConfig: {},
        ObservabilityConfig: {},
        UVAOffloadConfig: {},
        SchedulerConfig: {"max_model_len": 4096, "is_encoder_decoder": False},
    }
    for owner, always in needed.items():
        names = {entry.name for entry in fields(owner) if entry.init} - {"eplb_config", "fault_tolerance_config"}
        # Only the types and bounds of single fields: what several together must fulfil needs the model.
        for name in sorted(names & set(changed)):
            _one_field(owner, name, changed[name], always)
    speculative = getattr(options, "speculative_config", None)
    if speculative is not None:
        unknown = set(speculative) - {entry.name for entry in fields(SpeculativeConfig)}
        if unknown:
            raise TypeError(f"SpeculativeConfig has no {sorted(unknown)}")


def _one_field(owner: type[Any], name: str, value: Any, always: dict[str, Any]) -> None:
    from pydantic import ValidationError

    try:
        owner(**{**always, name: value})
    except ValidationError as error:
        if any(name in map(str, entry["loc"]) for entry in error.errors()):
            raise


def check_connectors(options: argparse.Namespace) -> None:
    """Find the classes of all connectors as the factory does, those of a MultiConnector's children too.

    OffloadingConnector's options are read by the part that it makes of them at start.
    """
    config = getattr(options, "kv_transfer_config", None)
    if config is None or (config.kv_connector is None and getattr(options, "kv_offloading_size", None) is not None):
        return
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    if config.kv_connector is None:
        KVConnectorFactory.get_connector_class(config)  # refuses it, in its own words
    for name in OFFLOAD_NAMES:  # a test before this one may have loaded the connector, which registers itself
        KVConnectorFactory._registry.pop(name, None)
    class_ = _found(lambda: KVConnectorFactory.get_connector_class(config), config.kv_connector_module_path)
    if config.kv_connector == "MultiConnector" and class_ is not None:
        view = types.SimpleNamespace(kv_transfer_config=config)
        _found(lambda: class_._get_connector_classes_and_configs(view), None)
    if getattr(options, "kv_offloading_size", None) is None:
        for name, extra in _named(config):
            if name == "OffloadingConnector" and extra.get("spec_name", "CPUOffloadingSpec") == "CPUOffloadingSpec":
                _offload_spec(extra)


def _named(config: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Return name and options of the connector and of its children."""
    extra = config.kv_connector_extra_config or {}
    children = extra.get("connectors", []) if config.kv_connector == "MultiConnector" else []
    return [
        (config.kv_connector, extra),
        *((child.get("kv_connector"), child.get("kv_connector_extra_config") or {}) for child in children),
    ]


def _offload_spec(extra: dict[str, Any]) -> None:
    """Make vLLM's CPU offloading spec for a small cache."""
    from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec

    CPUOffloadingSpec(
        types.SimpleNamespace(
            extra_config=extra,
            enable_kv_cache_events=False,
            groups=(),
            model=types.SimpleNamespace(name="m", dtype="bfloat16", max_model_len=64),
            cache=types.SimpleNamespace(tokens_per_hash=16, blocks_per_chunk=1),
            parallel=types.SimpleNamespace(world_size=1),
            worker_kv_bytes_per_block=4096,
            replicated_layout=False,
        )
    )


def _found(look_up: Any, module_path: str | None) -> Any:
    """Look a class up. A library that only this machine lacks is no refusal of the configuration."""
    try:
        return look_up()
    except ImportError as error:
        missing = getattr(error, "name", None) or ""
        if module_path and (module_path == missing or module_path.startswith(f"{missing}.")):
            raise
        return None
