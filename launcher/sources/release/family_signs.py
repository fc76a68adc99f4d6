"""Signs of the family an engine belongs to: vllm-ascend on Ascend devices, or stock vLLM on everything else.

Signs are of four ranks, and only those of the first rank that has any count: what a profile names as its hardware; what
the engine is given (devices, variables, its own image); what is around it in its file; and what its own options
ask for. So a CUDA connector in a container with Ascend devices is a fault on Ascend, and no doubt about the family.
Where signs of one rank contradict each other, neither family is excluded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import NamedTuple

from pd_launch.launcher.sources.release.image_names import image_name
from pd_launch.launcher.sources.release.installs import installs
from pd_launch.launcher.sources.text.per_file import is_comment, per_file, places
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.pairing import ASCEND_PAIRS
from pd_launch.schemas.core.target import ascend_target, newest
from pd_launch.schemas.core.values import Origin, SourceFile
from pd_launch.schemas.engine.connector_ports import NIXL
from pd_launch.schemas.engine.kv_transfer import BUNDLED_MODULE, connectors
from pd_launch.schemas.releases.additional_keys import releases_with_key
from pd_launch.schemas.releases.connectors import ASCEND_CONNECTORS, CUDA_ONLY, VLLM_CONNECTORS, registered

HARDWARE, GIVEN, AROUND, ASKED = range(4)
"""Ranks of signs, the first counts most."""
_ASCEND_VARIABLES = ("HCCL_", "ASCEND_", "VLLM_ASCEND_")
_STOCK_VARIABLES = ("VLLM_CPU_",)
_COPIED_VARIABLES = ("CUDA_", "NCCL_")
"""Variables of CUDA that are also in scripts for Ascend, where nothing reads them: less sure than devices."""
_DEVICE = lazy_pattern(r"/dev/davinci\d")
_MODULE = "vllm_ascend."
_WORDS = (
    ("set_env.sh", lazy_pattern(r"/[Aa]scend\S{0,200}/set_env\.sh"), True),
    ("torch_npu", lazy_pattern(r"(?<![\w-])torch_npu(?!\w)"), True),
    ("npu-smi", lazy_pattern(r"(?<![\w-])npu-smi(?![\w-])"), True),
    ("/dev/davinci", lazy_pattern(r"/dev/davinci\d"), True),
    ("nvidia-smi", lazy_pattern(r"(?<![\w-])nvidia-smi(?![\w-])"), False),
    ("#SBATCH", lazy_pattern(r"^#SBATCH[ \t]+(?:--gres=gpu|--gpus|-G[ =\d])", re.MULTILINE), False),
    ("srun", lazy_pattern(r"(?<![\w-])srun\b[^\n]{0,500}?[ \t](?:--gres=gpu|--gpus)"), False),
)
"""Words of a file: what it must hold at all, how they look, and which family they are of."""
MAX_MATCHES = 200


class Sign(NamedTuple):
    """One sign: of which family, of which rank, and what it is."""

    ascend: bool
    rank: int
    text: str
    origin: Origin | None = None


class Signs(NamedTuple):
    """The signs that count for an engine: all of one rank."""

    signs: tuple[Sign, ...] = ()

    @property
    def ascend(self) -> tuple[Sign, ...]:
        """Those of Ascend."""
        return tuple(sign for sign in self.signs if sign.ascend)

    @property
    def stock(self) -> tuple[Sign, ...]:
        """Those of stock vLLM."""
        return tuple(sign for sign in self.signs if not sign.ascend)

    @property
    def families(self) -> tuple[bool, ...]:
        """The families that are possible: Ascend (True), stock vLLM (False), or both, Ascend first."""
        said = {sign.ascend for sign in self.signs}
        return tuple(said) if len(said) == 1 else (True, False)

    @property
    def is_ascend(self) -> bool | None:
        """The family, or None where both are possible."""
        return self.families[0] if len(self.families) == 1 else None


def signs(node: NodeLaunch, sources: Mapping[str, SourceFile]) -> Signs:
    """Return the signs of an engine's family.

    Args:
        node: the engine.
        sources: the files of its deployment by path.
    """
    if node.hardware is not None:
        return Signs((Sign(node.hardware.ascend, HARDWARE, node.hardware.kind),))
    for rank in (_given(node), _around(node, sources), _asked(node)):
        found = tuple(rank)
        if found:
            return Signs(found)
    return Signs()


def _given(node: NodeLaunch) -> Iterator[Sign]:
    for name, variable in node.env.items():
        if name.startswith((*_ASCEND_VARIABLES, *_STOCK_VARIABLES)):
            yield Sign(name.startswith(_ASCEND_VARIABLES), GIVEN, name, variable.value.key or variable.value.origin)
    container = node.container
    if container is None:
        return
    for device in container.devices:
        if isinstance(device.value, str) and _DEVICE.match(device.value):
            yield Sign(True, GIVEN, device.value, device.origin)
    for name, amount in container.resources.items():
        if name.startswith(("huawei.com/", "nvidia.com/")):
            yield Sign(name.startswith("huawei"), GIVEN, name, amount.key or amount.origin)
    image = image_name(_image(node))
    if image.ascend is not None and (image.official or image.ascend) and container.image is not None:
        yield Sign(image.ascend, GIVEN, _image(node), container.image.origin)


def _image(node: NodeLaunch) -> str:
    image = node.container.image if node.container else None
    return ((image.text.value if image.text else image.string()) if image else None) or ""


def _around(node: NodeLaunch, sources: Mapping[str, SourceFile]) -> Iterator[Sign]:
    for name, variable in node.env.items():
        if name.startswith(_COPIED_VARIABLES):
            yield Sign(False, AROUND, name, variable.value.key or variable.value.origin)
    container, image = node.container, image_name(_image(node))
    if container is not None and container.image is not None and image.ascend is False and not image.official:
        yield Sign(False, AROUND, _image(node), container.image.origin)
    for place in places(node, sources):
        yield from _words_of(place.source)


@per_file
def _words_of(source: SourceFile) -> list[Sign]:
    """Return the signs that are in a file's text, each kind once."""
    found: list[Sign] = []
    for word, pattern, ascend in _WORDS:
        if word not in source.text:
            continue
        for match in islice(pattern.finditer(source.text), MAX_MATCHES):
            if not is_comment(source.text, match.end()):
                found.append(Sign(ascend, AROUND, match.group(), source.origin(match.start(), match.end())))
                break
    named = installs(source)
    named = [install for install in named if install.ascend] or named  # it is installed over a vLLM
    for install in named[:1]:
        place = source.origin(install.start, install.end)
        found.append(Sign(install.ascend, AROUND, install.text, place))
    return found


def _asked(node: NodeLaunch) -> Iterator[Sign]:
    quantization = node.value("quantization")
    if quantization is not None and quantization.value == "ascend":
        yield Sign(True, ASKED, "--quantization ascend", quantization.origin)
    for connector in connectors(node.kv_transfer):
        ascend = _of_connector(connector.name, connector.module)
        if ascend is not None:
            yield Sign(ascend, ASKED, connector.name or connector.module or "", connector.tree.origin)
    additional = node.additional
    for key, value in additional.items() if additional else ():
        if _is_ascend_key(key):
            yield Sign(True, ASKED, key, value.key or value.origin)


def _of_connector(name: str | None, module: str | None) -> bool | None:
    """Return the only family that has a connector; None where both have it, or neither."""
    if module is not None:
        return True if module.startswith(_MODULE) and not module.startswith(BUNDLED_MODULE) else None
    if name in ASCEND_CONNECTORS and name not in VLLM_CONNECTORS:
        return True
    return False if name in _stock_connectors() else None


@cache
def _stock_connectors() -> frozenset[str]:
    rows = [ascend_target(row, "unknown") for row in ASCEND_PAIRS]
    # NIXL's stop on NPUs too, but guides for Ascend configure them: their name alone tells nothing.
    return frozenset(CUDA_ONLY) - NIXL | {n for n in VLLM_CONNECTORS if not any(registered(n, row) for row in rows)}


@cache
def _is_ascend_key(key: str) -> bool:
    return bool(releases_with_key(key, newest(True)))
