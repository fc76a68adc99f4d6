"""NixlConnector of two launches: who copies, whether a difference of hashes ends the handshake, and hashed drafts."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.speculation import config_of
from pd_launch.schemas.releases.connector_options import NIXL
from pd_launch.schemas.releases.handshake import HASHES_MODEL

PUSH = "NixlPushConnector"
WITHOUT_KV = frozenset({"ngram", "ngram_gpu", "suffix", "medusa", "mlp_speculator"})
"""Methods that draft without layers of their own in the KV cache."""
_HIDDEN = frozenset({"eagle", "eagle3", "mtp", "dflash", "dspark"})


def nixl(node: NodeLaunch) -> Connector | None:
    """Return the launch's NixlConnector, by whichever of its names; None where it has none."""
    found = (c for c in connectors(node.kv_transfer) if c.name in NIXL)
    return next((c for c in found if c.tree.get("kv_connector_module_path") is None), None)


def both_nixl(prefill: NodeLaunch, decode: NodeLaunch, target: Target) -> bool:
    """Whether two launches meet over NixlConnector, of a vLLM that is no vllm-ascend's."""
    return not target.is_ascend and nixl(prefill) is not None and nixl(decode) is not None


def hashes_count(prefill: NodeLaunch, decode: NodeLaunch, target: Target) -> bool:
    """Whether a difference in what both sides hash surely ends their handshakes."""
    if not both_nixl(prefill, decode, target) or not HASHES_MODEL.holds(target):
        return False
    return _enforces(prefill) and _enforces(decode)


def _enforces(node: NodeLaunch) -> bool:
    """Whether ``enforce_handshake_compat`` is on; it is looked at for its truth alone, so that a text is on."""
    own = nixl(node)
    if own is None or (own.extra is not None and not own.extra.known):
        return False
    option = own.option("enforce_handshake_compat")
    return option is None or (option.known and bool(option.value))


def copies_on_decode(prefill: NodeLaunch, decode: NodeLaunch) -> bool:
    """Whether the decode side reads; with NixlPushConnector the prefill side writes."""
    return all(own is not None and own.name != PUSH for own in (nixl(prefill), nixl(decode)))


def uses_host_buffer(node: NodeLaunch) -> bool:
    """Whether KV is staged in host memory."""
    own = nixl(node)
    device = own.tree.get("kv_buffer_device") if own is not None else None
    return device is not None and device.value == "cpu"


def hashed_method(node: NodeLaunch) -> str | None:
    """Return the drafts' method as it is hashed, empty without drafts that are; None where it is unknown.

    All MTP methods are hashed as ``mtp``.
    """
    config = config_of(node)
    if config is None:
        return None if node.partial else ""
    written = config.get("method")
    name = written.string() if written is not None else None
    if name is None:
        return None
    if name.endswith("_mtp"):
        return "mtp"
    return name if name in _HIDDEN else ""
