"""Builds the playground: pd-launch's own checker as a page that runs in the browser, out of pinned parts.

Every part comes from the package index or from npm, is compared with its hash in playground/parts.json, and is served
by the site itself: the page asks no other server for anything.

    python scripts/build_playground.py [--into build/site/playground] [--cache DIR]
    python scripts/build_playground.py --update NAME=VERSION …      pins another version of a part
"""

from __future__ import annotations

import argparse
import hashlib
import html
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
PAGE = (
    "index.html",
    "page.js",
    "cards.js",
    "explain.js",
    "language.js",
    "marks.js",
    "checker.js",
    "files.js",
    "texts.js",
    "worker.js",
    "tree.js",
    "run.py",
    "style.css",
    "icon.svg",
    "offline.js",
)
OWN = ("__init__.py", "__main__.py", "launcher", "schemas", "profiles")
"""What the checker needs of the package: everything but the connector, which runs inside vLLM."""
INDEXES = {"npm": "https://registry.npmjs.org/{name}/{version}", "pypi": "https://pypi.org/simple/{name}/"}
_LICENCE = re.compile(r"(?:^|/)(?:licen[cs]e|copying|notice)[^/]{0,40}$", re.IGNORECASE)
_EMSCRIPTEN = "-pyemscripten_"
EPOCH = (2020, 1, 1, 0, 0, 0)
TIMEOUT = 120


class Part(TypedDict, total=False):
    """An archive that is fetched."""

    name: str
    version: str
    licence: str
    source: str
    """Where its source is, for its readers."""
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


def pinned() -> list[Part]:
    """Return the parts that playground/parts.json names."""
    found: list[Part] = json.loads((SOURCES / "parts.json").read_text("utf-8"))["parts"]
    return found


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
    licences: list[tuple[Part, str]] = []
    for part in pinned():
        content = dict(members(fetched(part, cache)))
        texts = [data.decode("utf-8", "replace") for name, data in content.items() if _LICENCE.search(name)]
        licences.append((part, "\n\n".join(texts)))
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
    if not (into.parent / "index.html").is_file():  # built alone: the documentation is not there to lead to
        page = (into / "index.html").read_text("utf-8")
        (into / "index.html").write_text(page.replace('id="docs"', 'id="docs" hidden'), "utf-8")
    (into / "licences.html").write_text(licences_page(licences), "utf-8")
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


def licences_page(licences: list[tuple[Part, str]]) -> str:
    """Return the page of the parts, with their versions and their licences' own texts."""
    page = (SOURCES / "licences.html").read_text("utf-8")
    rows, texts = [], []
    for part, text in licences:
        name, version = html.escape(part["name"]), html.escape(part["version"])
        link = f'<a href="{html.escape(part["source"])}">{name}</a>'
        rows.append(f"<tr><td>{link}</td><td>{version}</td><td>{html.escape(part['licence'])}</td></tr>")
        if text:
            shown = f'<pre tabindex="0">{html.escape(text)}</pre>'
            texts.append(f"<details><summary>{name}</summary>{shown}</details>")
    own_text = html.escape((ROOT / "LICENSE").read_text("utf-8"))
    texts.append(f'<details><summary>pd-launch</summary><pre tabindex="0">{own_text}</pre></details>')
    return page.replace("<!-- rows -->", "\n".join(rows)).replace("<!-- texts -->", "\n".join(texts))


def update(part: Part, version: str) -> Part:
    """Return a part at another version, with the archive's address and hash as its index has them now.

    Raises:
        SystemExit: that version has no archive of the same kind.
    """
    index = INDEXES["npm" if "npmjs" in part["url"] else "pypi"].format(name=part["name"], version=version)
    request = urllib.request.Request(index, headers={"Accept": "application/vnd.pypi.simple.v1+json, application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        said = json.loads(answer.read())
    if "dist" in said:
        url = said["dist"]["tarball"]
    else:
        kind = next(kind for kind in (_EMSCRIPTEN, "-none-any.whl", ".tar.gz") if kind in part["url"])
        files = [one for one in said["files"] if one["filename"].removesuffix(".tar.gz").split("-")[1] == version]
        url = next((one["url"] for one in files if kind in one["filename"]), "")
    if not url:
        sys.exit(f"{part['name']} {version} has no archive like {part['url'].rpartition('/')[2]}")
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        digest = hashlib.sha256(answer.read()).hexdigest()
    source = part["source"].replace(part["version"], version)
    return {**part, "version": version, "source": source, "url": url, "sha256": digest}


def update_all(wanted: list[str]) -> None:
    """Write other versions of parts into playground/parts.json."""
    versions = dict(one.partition("=")[::2] for one in wanted)
    parts = pinned()
    unknown = set(versions) - {part["name"] for part in parts}
    if unknown or not all(versions.values()):
        sys.exit(f"--update takes NAME=VERSION of: {', '.join(part['name'] for part in parts)}")
    new = [update(part, versions[part["name"]]) if part["name"] in versions else part for part in parts]
    (SOURCES / "parts.json").write_text(json.dumps({"parts": new}, indent=2) + "\n", "utf-8")


def main() -> None:
    """Build the playground and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "site" / "playground")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "pd-launch" / "playground")
    parser.add_argument("--update", nargs="+", metavar="NAME=VERSION", help="pin other versions, and build nothing")
    args = parser.parse_args()
    if args.update:
        update_all(args.update)
        return
    sizes = build(args.into, args.cache)
    print(*(f"{size:>10,}  {name}" for name, size in sizes.items()), sep="\n")
    print(f"{sum(sizes.values()):>10,}  bytes in {args.into}")


if __name__ == "__main__":
    main()
