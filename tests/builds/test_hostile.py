"""Archives and sources that mean harm: nothing is run, written or waited for, and the reader ends with a word."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from pd_launch.launcher.builds import BuildError, archives, files, read_build, source
from tests.builds.tiny import ARGS, ENVS, SERVE, VLLM, sdist, wheel, write

DEEP = 20_000
SOURCES: dict[str, tuple[str, str | bytes]] = {
    "parentheses": ("vllm/envs.py", "x = " + "(" * DEEP + ")" * DEEP),
    "sum": ("vllm/envs.py", ENVS + "y = " + "+".join(["1"] * DEEP) + "\n"),
    "attributes": ("vllm/envs.py", ENVS + "y = a" + ".b" * DEEP + "\n"),
    "calls": ("vllm/entrypoints/args.py", SERVE.replace("int,", "int, help=" + "f(" * 80 + ")" * 80 + ",")),
    "nul": ("vllm/envs.py", ENVS + "\0"),
    "bytes": ("vllm/envs.py", b"\xff\xfe" + ENVS.encode("utf-16-le")),
    "latin-1": ("vllm/envs.py", ("# -*- coding: latin-1 -*-\n# \u00e9" + ENVS).encode("latin-1")),
    "bom": ("vllm/envs.py", b"\xef\xbb\xbf" + ENVS.encode()),
    "large": ("vllm/envs.py", ENVS + "#" * files.MOST_BYTES),
    "own-base": (
        "vllm/config/__init__.py",
        "@config\nclass KVTransferConfig(KVTransferConfig):\n    kv_role: int = 1\n",
    ),
    "own-value": ("vllm/entrypoints/args.py", "a = b\nb = a\n" + SERVE.replace("8000", "a")),
    "own-call": (
        "vllm/engine/arg_utils.py",
        ARGS.replace("        return parser", "        EngineArgs.add_cli_args(parser)\n        return parser"),
    ),
    "two-calls": (
        "vllm/engine/arg_utils.py",
        ARGS.replace(
            "        return parser", "        EngineArgs.add_cli_args(parser)\n" * 2 + "        return parser"
        ),
    ),
    "diamonds": (
        "vllm/config/__init__.py",
        "@config\nclass C0:\n    a: int = 1\n"
        + "".join(f"@config\nclass C{i}(C{i - 1}, C{i - 1}):\n    pass\n" for i in range(1, 60))
        + "@config\nclass KVTransferConfig(C59):\n    kv_role: int = 1\n",
    ),
    "unions": (
        "vllm/config/__init__.py",
        "T0 = int\n"
        + "".join(f"T{i} = Union[{', '.join([f'T{i - 1}'] * 9)}]\n" for i in range(1, 18))
        + "@config\nclass KVTransferConfig:\n    kv_role: T17 = 1\n    kv_connector: T17 = 1\n",
    ),
    "doubling": (
        "vllm/entrypoints/args.py",
        SERVE.replace("    parser = ", "    x = 'aaaaaaaaaa'\n" + "    x = x + x\n" * 60 + "    parser = "),
    ),
    "replacing": (
        "vllm/entrypoints/args.py",
        SERVE.replace(
            "    parser = ", "    x = 'aaaaaaaaaa'\n" + "    x = x.replace('a', 'aaaaaaaaaa')\n" * 60 + "    parser = "
        ),
    ),
    "extending": (
        "vllm/entrypoints/args.py",
        SERVE.replace("    parser = ", "    x = [1, 2, 3]\n" + "    x.extend(x)\n" * 60 + "    parser = "),
    ),
    "product": ("vllm/entrypoints/args.py", SERVE.replace("8000", "*".join(["9" * 4000] * 200))),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources_that_mean_harm(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_STEPS", 50_000)
    file, text = SOURCES[name]
    build = read_build(write(tmp_path, {**VLLM, file: text}))
    assert build.read.vllm is not None
    assert all(len(line) < 1000 and "\n" not in line for line in build.unread)
    if name in ("latin-1", "bom", "sum", "calls"):
        assert "VLLM_FORK_SWITCH" in build.read.vllm.sections.get("env", {"VLLM_FORK_SWITCH": 1})


def test_many_files_are_not_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 40)
    more = {f"vllm/entrypoints/m{number}.py": "def make_arg_parser(" for number in range(100)}
    assert any("Python files" in line for line in read_build(write(tmp_path, {**VLLM, **more})).unread)
    with pytest.raises(BuildError, match="Python files"):
        read_build(wheel(tmp_path / "x.whl", {**VLLM, **more}))


def test_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, VLLM)
    (tmp_path / "vllm/envs.py").unlink()
    os.mkfifo(tmp_path / "vllm/envs.py")
    (tmp_path / "vllm/entrypoints/loop").symlink_to(tmp_path / "vllm")
    (tmp_path / "vllm/entrypoints/gone.py").symlink_to(tmp_path / "nothing")
    (tmp_path / "vllm/entrypoints/folder.py").mkdir()
    build = read_build(tmp_path)
    assert len(build.unread) == 1 and "environment" in build.unread[0]


def _link(name: str, to: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    info.comment = to.encode()
    return info


def test_a_wheel_that_means_harm_writes_nothing(tmp_path: Path) -> None:
    path = wheel(tmp_path / "in/x.whl", VLLM)
    with zipfile.ZipFile(path, "a") as archive:
        for name in ("../../out.py", "/abs/vllm/x.py", "vllm/../../out.py", "vllm\\..\\out.py", "C:/vllm/x.py"):
            archive.writestr(name, "x")
        archive.writestr(_link("vllm/link.py", "/etc/passwd"), "/etc/passwd")
    build = read_build(path)
    assert not build.unread and [p.name for p in tmp_path.iterdir()] == ["in"]


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vllm/__init__.py", b"#" * (files.MOST_BYTES + 1))
    with pytest.raises(BuildError, match="larger than 4 MiB"):
        read_build(tmp_path / "bomb.whl")
    with zipfile.ZipFile(tmp_path / "lzma.whl", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("vllm/__init__.py", b"#" * 1000)
    with pytest.raises(BuildError, match="packed in a way"):
        read_build(tmp_path / "lzma.whl")
    monkeypatch.setattr(archives, "_MOST_UNPACKED", 32 * 1024 * 1024)
    with gzip.open(tmp_path / "bomb.tar.gz", "wb") as file:
        file.write(_member("vllm-1/kernel.bin", 64 * 1024 * 1024))
        file.write(bytes(64 * 1024 * 1024))
    with pytest.raises(BuildError, match="unpacked it is larger"):
        read_build(tmp_path / "bomb.tar.gz")


def _member(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.USTAR_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_that_is_a_bomb(kind: bytes, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x.tar.gz", "wb") as file:
        file.write(_member("x", 1 << 32, kind) + bytes(1 << 20))
    with pytest.raises(BuildError, match="header that is larger"):
        read_build(tmp_path / "x.tar.gz")


def test_lists_of_members_that_are_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wheel(tmp_path / "x.whl", VLLM)
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\5\6")
    data[at + 12 : at + 16] = (1 << 30).to_bytes(4, "little")
    (tmp_path / "long.whl").write_bytes(data)
    with pytest.raises(BuildError, match="list of members"):
        read_build(tmp_path / "long.whl")
    monkeypatch.setattr(archives, "_MOST_MEMBERS", 5)
    for archive in (path, sdist(tmp_path / "x.tar.gz", VLLM)):
        with pytest.raises(BuildError, match="more than 5 members"):
            read_build(archive)


@pytest.mark.parametrize("form", ["whl", "tar.gz"])
def test_an_archive_that_is_cut_or_changed_somewhere(form: str, tmp_path: Path) -> None:
    path = (wheel if form == "whl" else sdist)(tmp_path / f"x.{form}", VLLM)
    whole = path.read_bytes()
    for number, at in enumerate(range(1, len(whole), max(1, len(whole) // 60))):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            damaged = tmp_path / f"{number}-{len(data)}.{form}"
            damaged.write_bytes(data)
            try:
                read_build(damaged)
            except BuildError as error:
                assert "\n" not in str(error)


def test_a_source_package_with_links_and_devices(tmp_path: Path) -> None:
    path = sdist(tmp_path / "plain.tar.gz", VLLM)
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        with tarfile.open(path) as plain:
            for member in plain:
                archive.addfile(member, plain.extractfile(member))
        for name, kind, to in (
            ("v/vllm/link.py", tarfile.SYMTYPE, "/etc/passwd"),
            ("v/vllm/hard.py", tarfile.LNKTYPE, "v/nothing"),
            ("v/vllm/pipe.py", tarfile.FIFOTYPE, ""),
            ("../../vllm/out.py", tarfile.REGTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, to
            archive.addfile(info, io.BytesIO())
    assert not read_build(tmp_path / "x.tar.gz").unread
