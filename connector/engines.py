"""Which worker side is whose, where several engines live in one process. Pure Python.

vLLM keeps the worker's connector in a variable of the process: each later engine is handed that of the first, also of
one whose start failed, until it is shut down. So every device cache that is registered gets a worker side of its own,
and steps say whose they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar
from weakref import ReferenceType, WeakKeyDictionary, WeakValueDictionary, ref

from pd_launch.schemas.engine.budget import OFFLOAD_NAMES

Side = TypeVar("Side")


class Sides(Generic[Side]):
    """Worker sides by engine. It keeps none of them alive."""

    def __init__(self) -> None:
        self._of: WeakValueDictionary[str, Side] = WeakValueDictionary()
        self._newest: ReferenceType[Side] | None = None

    def add(self, side: Side) -> None:
        """Take in a worker side that was just made: it is that of the engine that is met next.

        An engine in the same process is met when its scheduler side is made, before another engine can start; one in
        another process with its first step, and then it is the only one.
        """
        self._newest = ref(side)

    def of(self, engine: str) -> Side | None:
        """Return the worker side of an engine; None where it has none in this process."""
        found = self._of.get(engine)
        if found is None and self._newest is not None and (found := self._newest()) is not None:
            self._of[engine] = found
            self._newest = None
        return found


class RepeatedError(ValueError):
    """This connector occurs more than once in one engine's configuration."""


class Siblings:
    """The connectors of this process, of which an engine may have one for each role. It keeps none of them alive.

    MultiConnector makes each child with a configuration that knows nothing of the others, but hands all of them the
    same ``kv_cache_config``; another engine has another one.
    """

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()

    def add(self, connector: Any, role: Any, cache_config: Any) -> None:
        """Take in a connector that is being made.

        Raises:
            RepeatedError: its engine has one already.
        """
        for other, (its_role, its_config) in self._known.items():
            if its_config is cache_config and its_role == role and other is not connector:
                raise RepeatedError(
                    f"{connector.default_name} and {other.default_name} are children of one MultiConnector: both "
                    "would save and restore the same requests. Keep one of the two and give it the whole budget"
                )
        self._known[connector] = role, cache_config

    def remove(self, connector: Any) -> None:
        """Forget a connector that is shut down."""
        self._known.pop(connector, None)


def own_transfer(transfer: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return kv_role and options of this connector in an engine's kv_transfer_config; None where it is not there."""
    if transfer is None:
        return None
    extra = transfer.kv_connector_extra_config or {}
    if transfer.kv_connector in OFFLOAD_NAMES:
        return transfer.kv_role, extra
    for child in extra.get("connectors", ()):
        if child.get("kv_connector") in OFFLOAD_NAMES:
            return child.get("kv_role", transfer.kv_role), child.get("kv_connector_extra_config") or {}
    return None
