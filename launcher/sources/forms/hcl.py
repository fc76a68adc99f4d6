"""Terraform, Nomad and other HCL: containers and commands in it, read as the manifests that providers make of them."""

from __future__ import annotations

import re
from dataclasses import replace

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.forms.hcl_tree import NotHCL, parse_hcl
from pd_launch.launcher.sources.forms.loose import read_loose
from pd_launch.launcher.sources.text.per_file import per_file
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node, SourceFile

_BLOCK = lazy_pattern(
    r"^(?:(?:resource|data)[ \t]+\"[^\"\n]{1,200}\"[ \t]+\"[^\"\n]{1,200}\""
    r"|(?:module|variable|output|provider|job)[ \t]+\"[^\"\n]{1,200}\"|locals|terraform)[ \t]*\{",
    re.MULTILINE,
)
_LISTS = {
    "container": "containers", "init_container": "initContainers", "env": "env", "volume": "volumes",
    "volume_mount": "volumeMounts", "port": "ports", "env_from": "envFrom",
}  # fmt: skip
"""Blocks that the provider of Kubernetes makes entries of lists of, and how Kubernetes calls these."""
_CAMEL = lazy_pattern(r"_([a-z])")
_ACRONYMS = {"hostIpc": "hostIPC", "hostPid": "hostPID"}
_VERBATIM = ("limits", "requests", "labels", "annotations", "data")
_NAMES = (".tf", ".hcl", ".nomad", ".tfvars")
_LABELLED = ("resource", "data", "module")
_SPEAKS = lazy_pattern(r"vllm", re.IGNORECASE)


def recognise(source: SourceFile) -> bool:
    """Whether a file has a block of Terraform's or Nomad's, and is HCL to its end where its name does not say so."""
    if source.path.endswith((".json", ".yaml", ".yml")) or _BLOCK.search(source.text) is None:
        return False
    return source.path.endswith(_NAMES) or _tree(source) is not None


@per_file
def _tree(source: SourceFile) -> Node | None:
    """Return a file as a tree; None where it cannot be read."""
    try:
        return parse_hcl(source)
    except (NotHCL, RecursionError):
        return None


def read(given: SourceFile, source: SourceFile, found: Found) -> None:
    """Add the engines of containers, of ``command`` and ``args``, and of scripts in texts."""
    if _SPEAKS.search(source.text) is None:
        return
    tree = _tree(source)
    if tree is None:
        help_ = "give what it produces: `terraform show -json`, the manifest or the script"
        help_zh = "请给出它最终生成的内容：`terraform show -json`、清单或脚本"
        place = source.origin(0, 0)
        said = Msg(
            "not read: this HCL contains something pd-launch does not understand",
            "没有读取：这个 HCL 文件中有无法理解的内容",
        )
        fault = Fault("unreadable", place, said, help=Msg(help_, help_zh))
        found.add_faults([fault])
        return
    for kind, blocks in tree.items():
        for name, block in blocks.items() if kind in _LABELLED else ((kind, blocks),):
            whole = Node({name: _as_manifest(block)}, block.origin)
            read_loose(whole, source.path, found)


def _as_manifest(node: Node, key: str = "") -> Node:
    """Return a tree with the names and lists that Kubernetes has for the blocks of its provider."""
    if isinstance(node.value, list):
        return replace(node, value=[_as_manifest(entry, key) for entry in node.value])
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool) and node.text is not None:
        return replace(node, value=node.text.value)  # the provider makes a text of it
    if not isinstance(node.value, dict):
        return node
    entries: dict[str, Node] = {}
    for name, child in node.items():
        shaped = _as_manifest(child, name)
        if name in _LISTS and _is_block(name, shaped):
            listed = shaped if isinstance(shaped.value, list) else replace(shaped, value=[shaped], text=None)
            entries[_LISTS[name]] = listed
        else:
            entries[name if key in _VERBATIM else _camel(name)] = shaped
    command = entries.get("command")
    first = next(command.elements(), None) if command is not None else None
    if command is not None and first is not None and str(first.value).startswith("-") and "args" not in entries:
        entries["args"] = entries.pop("command")  # what Docker calls so is arguments of the image's entry point
    return replace(node, value=entries)


def _is_block(name: str, node: Node) -> bool:
    """Whether a mapping is an entry of such a list: an ``env`` of other tools maps names to values."""
    if isinstance(node.value, list):
        return all(isinstance(entry.value, dict) for entry in node.value)
    return isinstance(node.value, dict) and (name != "env" or node.get("name") is not None)


def _camel(name: str) -> str:
    camel = _CAMEL.sub(lambda match: match[1].upper(), name)
    return _ACRONYMS.get(camel, camel)
