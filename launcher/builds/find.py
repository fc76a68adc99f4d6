"""Where vllm and vllm_ascend lie in a folder: a venv, a site-packages, a source checkout, an unpacked image's root."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pd_launch.schemas.core.lazy import lazy_pattern

PACKAGES = {"vllm": "vllm", "vllm-ascend": "vllm_ascend"}
"""Project → the folder of its Python files."""

_SITES = (
    "lib*/python3*/site-packages",
    "lib*/python3*/dist-packages",
    "Lib/site-packages",
    ".venv/lib*/python3*/site-packages",
    "venv/lib*/python3*/site-packages",
    "usr/local/lib*/python3*/*-packages",
    "usr/local/python3*/lib/python3*/site-packages",
    "usr/lib*/python3*/*-packages",
    "opt/*/lib*/python3*/site-packages",
    "opt/*/envs/*/lib/python3*/site-packages",
    "root/*/envs/*/lib/python3*/site-packages",
    "root/.local/lib/python3*/site-packages",
    "app/.venv/lib/python3*/site-packages",
    "workspace/*/lib/python3*/site-packages",
    "home/*/.local/lib/python3*/site-packages",
)
_CHECKOUTS = ("*", "src", "src/*", "vllm-workspace/*", "workspace/*", "opt/*", "app/*", "root/*", "home/*/*")
_MOST_CANDIDATES = 2000
_MOST_TEXT = 1024 * 1024
_MAPPING = lazy_pattern(r"^MAPPING[^=\n]*=\s*(\{[^\n]*\})", re.MULTILINE)


def find_packages(path: Path) -> dict[str, Path]:
    """Return the folder that holds each project's package: project → ``ROOT`` with ``ROOT/vllm`` in it.

    Looked for are: the folder itself, the site-packages of its Python, and what a site-packages points to (``.pth``
    files and editable installs); where none of them has either package, checkouts in the folder.
    """
    return _first(_roots(path)) or _first(_matching(path, _CHECKOUTS))


def _first(roots: Iterator[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for root in islice(roots, _MOST_CANDIDATES):
        for project, package in PACKAGES.items():
            if project not in found and _is_package(root / package):
                found[project] = root
        if len(found) == len(PACKAGES):
            break
    return found


def looked_for(path: Path) -> str:
    """Say in one line what was looked for."""
    return f"vllm/ or vllm_ascend/ in {path}, one folder below it, and in site-packages of a Python there"


def _is_package(folder: Path) -> bool:
    try:
        return (folder / "__init__.py").is_file()
    except OSError:
        return False


def _roots(path: Path) -> Iterator[Path]:
    if path.name in PACKAGES.values() and _is_package(path):
        yield path.parent  # the package's own folder was named
    yield path
    sites = list(_matching(path, _SITES))
    yield from sites
    for site in [path, *sites]:
        yield from _pointed_to(site, path)


def _matching(path: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        try:
            yield from sorted(islice(path.glob(pattern), _MOST_CANDIDATES), reverse=True)
        except OSError:  # a folder that may not be looked into
            continue


def _pointed_to(site: Path, path: Path) -> Iterator[Path]:
    """Iterate over the folders that a site-packages adds to Python's path; of an unpacked image, its own."""
    for file in _matching(site, ("*.pth",)):
        for line in _text(file).splitlines()[:100]:
            if line.strip() and not line.startswith(("import ", "import\t", "#")):
                yield _inside(site / line.strip(), path)
    for file in _matching(site, ("__editable___vllm*_finder.py",)):
        match = _MAPPING.search(_text(file))
        try:
            mapping = ast.literal_eval(match[1]) if match else {}
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        for name in PACKAGES.values():
            if isinstance(mapping, dict) and isinstance(mapping.get(name), str):
                yield _inside(Path(mapping[name]), path).parent


def _inside(pointed: Path, path: Path) -> Path:
    """Return what a path in a file below ``path`` means: within an unpacked image it is the image's own."""
    is_image = (path / "usr").is_dir() and (path / "etc").is_dir()
    if is_image and pointed.is_absolute() and path not in pointed.parents:
        return path.joinpath(*pointed.parts[1:])
    return pointed


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST_TEXT).decode("utf-8", "replace") if file.is_file() else ""
    except (OSError, ValueError):
        return ""
