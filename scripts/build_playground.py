"""Builds the playground: pd-launch's own checker as a page that runs in the browser, out of pinned parts.

Every part comes from the package index or from npm, is compared with its hash in playground/parts.json, and is served
by the site itself: the page asks no other server for anything.

    python scripts/build_playground.py [--into build/site/playground] [--cache DIR]
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import shutil
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TypedDict

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "playground"
PAGE = ("index.html", "page.js", "worker.js", "texts.js", "tree.js", "run.py", "style.css", "icon.svg", "offline.js")
OWN = ("__init__.py", "__main__.py", "launcher", "schemas", "profiles")
"""What the checker needs of the package: everything but the connector, which runs inside vLLM."""
_INSTALLER = re.compile(r"\.dist-info/(?!METADATA$)")
EPOCH = (2020, 1, 1, 0, 0, 0)
TIMEOUT = 120


class Part(TypedDict, total=False):
    """An archive that is fetched."""

    name: str
    version: str
    url: str
    sha256: str
    take: list[str]
    """Files that are served as they are, or folders that Python imports; absent: a wheel."""


def fetched(part: Part, cache: Path) -> bytes:
    """Return an archive, from the cache where it is there.

    Raises:
        SystemExit: it is not the one that is pinned.
    """
    kept = cache / part["sha256"]
    if kept.is_file():
        data = kept.read_bytes()
    else:
        with urllib.request.urlopen(part["url"], timeout=TIMEOUT) as answer:
            data = answer.read()
    if hashlib.sha256(data).hexdigest() != part["sha256"]:
        sys.exit(f"{part['url']} is not the archive that playground/parts.json names: its hash differs")
    cache.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(data)
    return data


def members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a wheel, or of an archive without its outermost folder."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as wheel:
            yield from ((name, wheel.read(name)) for name in wheel.namelist() if not name.endswith("/"))
        return
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield PurePosixPath(*PurePosixPath(member.name).parts[1:]).as_posix(), content.read()


def own() -> Iterator[tuple[str, bytes]]:
    """Yield the files of pd-launch that the checker needs."""
    package = ROOT / "pd_launch"
    for name in OWN:
        top = package / name
        for path in sorted([top] if top.is_file() else top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"pd_launch/{path.relative_to(package).as_posix()}", path.read_bytes()


def build(into: Path, cache: Path) -> dict[str, int]:
    """Write the playground into a folder; return the bytes of each part."""
    shutil.rmtree(into, ignore_errors=True)
    parts = into / "parts"
    parts.mkdir(parents=True)
    modules = dict(own())
    for part in json.loads((SOURCES / "parts.json").read_text("utf-8"))["parts"]:
        content = dict(members(fetched(part, cache)))
        served = [name for name in part.get("take", []) if name in content]
        for name in served:
            (parts / PurePosixPath(name).name).write_bytes(content[name])
        for folder in set(part.get("take", [])) - set(served):
            base = PurePosixPath(folder).parent
            taken = {
                str(PurePosixPath(name).relative_to(base)): data
                for name, data in content.items()
                if name.startswith(f"{folder}/")
            }
            modules |= taken
        if "take" not in part:
            modules |= {
                name: data for name, data in content.items() if ".dist-info/" not in name or name.endswith("METADATA")
            }
    _write_modules(modules, parts / "modules.zip")
    for name in PAGE:
        shutil.copy(SOURCES / name, into / name)
    sizes = {path.name: path.stat().st_size for path in sorted(parts.iterdir())}
    listed = {
        path.name: [path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in sorted(parts.iterdir())
    }
    (into / "parts.json").write_text(json.dumps(listed, indent=1) + "\n", "utf-8")
    return sizes


def _write_modules(modules: dict[str, bytes], into: Path) -> None:
    """Write what Python imports as one archive, the same bytes for the same content."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(modules.items()):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)


def main() -> None:
    """Build the playground and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "site" / "playground")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "pd-launch" / "playground")
    args = parser.parse_args()
    sizes = build(args.into, args.cache)
    print(*(f"{size:>10,}  {name}" for name, size in sizes.items()), sep="\n")
    print(f"{sum(sizes.values()):>10,}  bytes in {args.into}")


if __name__ == "__main__":
    main()
