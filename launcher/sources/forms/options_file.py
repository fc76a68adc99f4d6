"""The file of ``vllm serve --config`` alone: keys are options. What the command line says besides is not known.

Many YAML files have a model, so it is one only where every other key is an option, or nearly one.
"""

from __future__ import annotations

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.forms.options import MODELS, add_options
from pd_launch.schemas.core.flag_shapes import LISTS, SWITCHES, VALUED
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.values import Node, SourceFile
from pd_launch.schemas.engine.sides import spoken_side

_KNOWN = frozenset({*SWITCHES, *LISTS, *VALUED, *(f"no-{name}" for name in SWITCHES)})
_NEARLY = 0.8
_COMMON = frozenset(
    {"dtype", "seed", "tokenizer", "revision", "trust-remote-code", "quantization", "tokenizer-revision", "host"}
    | {"code-revision", "download-dir", "hf-token"}
)
"""Options that files of many other tools have beside a model."""
MOST = 300
"""Keys that such a file may have."""


def recognise(tree: Node) -> bool:
    """Whether a document has a model, and every other key is an option of ``vllm serve`` or nearly one."""
    names = [key.replace("_", "-") for key, _ in tree.items()]
    others = [name.partition(".")[0] for name in names if name not in MODELS]
    if len(others) == len(names) or not others or len(others) > MOST:
        return False
    unknown = [name for name in others if name not in _KNOWN]
    if _COMMON.issuperset(others) or len(unknown) * 2 > len(others) or not _is_name(tree):
        return False
    return all(nearest(name, _KNOWN, _NEARLY) is not None for name in unknown)


def _is_name(tree: Node) -> bool:
    """Whether the model is a name: other tools describe it by a mapping."""
    return all(isinstance(value.value, str) for key, value in tree.items() if key.replace("_", "-") in MODELS)


def read(tree: Node, source: SourceFile, found: Found) -> None:
    """Add the engine that the options are of."""
    label = source.path.rpartition("/")[2]
    model = next(value for key, value in tree.items() if key.replace("_", "-") in MODELS)
    node = NodeLaunch("options", model.key or model.origin, label, side=spoken_side(label), partial=True)
    node.env_open = node.origin
    add_options(node, tree, found.faults, drops_false=False)
    found.nodes.append(node)
