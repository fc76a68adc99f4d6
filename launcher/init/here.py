"""Values that only the machine knows on which an engine runs: what ``auto`` means in a profile."""

from __future__ import annotations

import re

from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Unknown

ADDRESSES = ("HCCL_IF_IP", "VLLM_HOST_IP", "VLLM_NIXL_SIDE_CHANNEL_HOST")
INTERFACES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
_ROUTES = "while read -r"
"""A loop over lines of a file, such as the table of routes: it leaves what it found in a variable."""
_REFERENCE = lazy_pattern(r"\$\{?(?P<name>[A-Za-z_][A-Za-z0-9_]{0,99})(?::?\?[^{}]{0,200})?\}?")


def is_here(variable: EnvVar | None) -> bool:
    """Whether an address or interface is asked of the machine itself.

    That is: of a command that runs there, of the environment (``HCCL_IF_IP=${HCCL_IF_IP:?}``), or of the pod.
    """
    if variable is None or variable.name not in (*ADDRESSES, *INTERFACES):
        return False
    if not isinstance(variable.value.value, Unknown):
        return False
    if variable.how in ("manifest", "yaml") and variable.value.value.text == "valueFrom":
        return variable.name in ADDRESSES
    written = _written(variable)
    if not written:
        return variable.how in ("docker", "compose")  # only a name is given: the value is the environment's
    if "$(" in written or "`" in written or _ROUTES in written:
        return True
    reference = _REFERENCE.fullmatch(written.strip("\"'"))
    if reference is None:
        return False
    return reference["name"] == variable.name or _is_asked(variable, reference["name"])


def _written(variable: EnvVar) -> str:
    """Return the value as its file has it."""
    text = variable.value.text
    if text is None or not text.spots:
        return ""
    return text.source.text[text.spots[0] : text.spots[-1]].strip().replace("$$", "$")  # as Kubernetes does


def _is_asked(variable: EnvVar, name: str) -> bool:
    """Whether the file takes a name from a command."""
    text = variable.value.text
    whole = text.source.text if text is not None else ""
    return re.search(rf"(?<![\w$]){re.escape(name)}=[\"']?(?:\$\(|`)", whole) is not None
