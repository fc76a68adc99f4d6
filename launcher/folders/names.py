"""Which files of a folder can hold an engine: by their names first, then by a look at their bytes."""

from __future__ import annotations

import re
from pathlib import PurePath

from pd_launch.launcher.sources.forms_table import text_form
from pd_launch.launcher.sources.text.kinds import is_python, is_script, is_unit, opens_like_yaml
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import SourceFile

SCRIPTS = ("sh", "bash", "zsh", "ksh", "slurm", "sbatch", "pbs", "lsf", "mk")
TREES = ("yaml", "yml", "json")
OTHERS = ("py", "service", "dockerfile", "containerfile")
TABLED = ("tf", "tfvars", "hcl", "nomad", "ipynb", "conf", "ini", "env")
"""Endings of files that count only where the table of forms knows their text."""
ENDINGS = frozenset((*SCRIPTS, *TREES, *OTHERS, *TABLED))
TEMPLATES = ("j2", "jinja", "jinja2", "tpl", "tmpl", "template")
"""Endings after the one that counts: ``decode.sh.j2``."""
_BY_NAME = ("dockerfile", "containerfile", "makefile", "gnumakefile", "justfile", "procfile")
MAY_BE_LARGE = (".sh", ".bash", ".yaml", ".yml")
"""Files that are said to be too large, where they name an engine; a large one of another kind is data."""
FOLDERS = frozenset(
    {".git", ".hg", ".svn", ".tox", ".nox", ".eggs", ".venv", "__pycache__", "node_modules", "site-packages"}
)
"""Folders of tools, which hold nothing of the project."""
_CAN_NAME = lazy_pattern(
    rb"vllm|api_server|dynamo|pd-launch|online_dp|server_cmd|kv[-_](?:transfer|connector)|llminferenceservice|"
    rb"modelartifacts|llmconfig|engine_?args|engine_kwargs|motor_engine_|kvtransferconfig|remotepdserver|remoteopenaiserver|"
    rb"--(?:tensor-parallel-size|max-num-seqs|max-num-batched-tokens|max-model-len|gpu-memory-utilization)|"
    rb"\b(?:decode|prefill)['\"]?[ \t]{0,20}:",
    re.IGNORECASE,
)
_CAN_BUILD = lazy_pattern(
    rb"\bLLM\b|EngineArgs|LLMConfig|KVTransferConfig|serve\b|Server\b|api_server|entrypoints|dynamo|online_dp|docker|podman"
    rb"|pd-launch|kubectl"
)
"""The same of Python files, of which most only use what vLLM brings."""
_DEFINES = lazy_pattern(rb"^kind:[ \t]{0,20}['\"]?CustomResourceDefinition\b", re.MULTILINE)
_HEAD = 8_192
"""Bytes in which a definition says what it is."""
_PROSE = lazy_pattern(r"json-schema\.org/|\"(?:pd_launch_baseline|format_version|check_name)\"")
"""Marks the beginning of JSON whose texts speak of engines: schemas, baselines and reports."""
_STARTS = lazy_pattern(r"^[ \t]*(?:exec[ \t]+|nohup[ \t]+)?(?:vllm serve|python3? -m vllm\.)", re.MULTILINE)


def is_tool_folder(name: str) -> bool:
    """Whether a folder belongs to a tool by its name: a repository's own, a cache, an environment."""
    return name in FOLDERS or (name.startswith(".") and name.endswith("_cache"))


def may_be_read(name: str) -> bool:
    """Whether a file of that name can be of a form that is read; one without an ending is looked into."""
    name = name.lower()
    parts = name.lstrip(".").split(".")
    if len(parts) > 2 and parts[-1] in TEMPLATES:
        parts.pop()
    return parts[0] in _BY_NAME or len(parts) == 1 or parts[-1] in ENDINGS


def can_name_an_engine(name: str, data: bytes) -> bool:
    """Whether a file's bytes hold a word that each file with an engine holds: more is taken than needed, never less."""
    if _CAN_NAME.search(data) is None or _is_definition(data):
        return False
    return not name.endswith(".py") or _CAN_BUILD.search(data) is not None


def _is_definition(data: bytes) -> bool:
    """Whether a file is one definition of a Kubernetes resource: a schema, however often it speaks of engines."""
    said = _DEFINES.search(data, 0, _HEAD)
    return said is not None and data.find(b"\n---", said.end()) < 0


def can_hold_an_engine(source: SourceFile) -> bool:
    """Whether a file that was named can hold an engine: by its words alone, whatever its name."""
    return can_name_an_engine(source.path, source.text.encode("utf-8", "replace")) and not _is_prose(source)


def is_of_a_form(source: SourceFile) -> bool:
    """Whether a file is of a form that is read; what has no ending must show it, as prose may quote commands."""
    name = PurePath(source.path).name
    if _is_prose(source):
        return False
    if name.lower().rpartition(".")[2] in TABLED:
        return text_form(source) is not None
    if "." in name.lstrip(".") or name.lower() in _BY_NAME:
        return True
    if is_script(source) or is_python(source) or is_unit(source) or opens_like_yaml(source.text):
        return True
    return not name.isupper() and _STARTS.search(source.text) is not None


def _is_prose(source: SourceFile) -> bool:
    """Whether a file is JSON that only speaks of engines."""
    return source.path.endswith(".json") and _PROSE.search(source.text, 0, 500) is not None
