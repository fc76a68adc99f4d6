"""A build is found in every form in which it lies on a disk, and what it says is the same in each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pd_launch.launcher.builds import BuildError, read_build, target_of
from tests.builds.tiny import ASCEND, VLLM, sdist, wheel, write

BOTH = {**VLLM, **ASCEND}
SITE = "lib/python3.11/site-packages"


def _editable(root: Path) -> Path:
    write(root / "src" / "fork", VLLM)
    finder = f"from __future__ import annotations\nMAPPING: dict[str, str] = {{'vllm': '{root}/src/fork/vllm'}}\n"
    return write(root / "venv", {f"{SITE}/__editable___vllm_0_1_dev1_finder.py": finder})


def _pth(root: Path) -> Path:
    write(root / "elsewhere", VLLM)
    return write(root / "venv", {f"{SITE}/_vllm.pth": f"import os\n# no path\n{root}/elsewhere\n"})


def _image_pth(root: Path) -> Path:
    write(root / "image/vllm-workspace/deep/er", VLLM)
    return write(
        root / "image", {"etc/os-release": "", "usr/lib/python3/dist-packages/v.pth": "/vllm-workspace/deep/er\n"}
    )


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "site-packages": lambda root: write(root, VLLM),
    "checkout": lambda root: write(root / "vllm-fork", VLLM),
    "package": lambda root: write(root, VLLM) / "vllm",
    "venv": lambda root: write(root / SITE, VLLM).parents[2],
    "project": lambda root: write(root / ".venv" / SITE, VLLM) and root,
    "image": lambda root: write(root / "usr/local/lib/python3.12/dist-packages", VLLM) and root,
    "image-python": lambda root: write(root / "usr/local/python3.11.10" / SITE, VLLM) and root,
    "workspace": lambda root: write(root / "vllm-workspace/vllm", VLLM) and root,
    "beside": lambda root: write(root / "vllm", VLLM) and root,
    "editable": _editable,
    "pth": _pth,
    "image-pth": _image_pth,
    "wheel": lambda root: wheel(root / "vllm-0.32.0-cp38-abi3-manylinux_2_28_x86_64.whl", VLLM),
    "zip": lambda root: wheel(root / "vllm.zip", {f"vllm-main/{name}": text for name, text in VLLM.items()}),
    "sdist": lambda root: sdist(root / "vllm-0.32.0.tar.gz", VLLM),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_build_is_found(layout: str, tmp_path: Path) -> None:
    build = read_build(LAYOUTS[layout](tmp_path))
    assert build.unread == () and build.read.ascend is None and build.read.vllm is not None
    assert "fork-flag" in build.read.vllm.sections["flags"] and build.read.vllm.version == "0.32.0"


def test_both_projects_make_an_ascend_target(tmp_path: Path) -> None:
    write(tmp_path / "vllm-workspace" / "vllm", VLLM)
    write(tmp_path / "vllm-workspace" / "vllm-ascend", ASCEND)
    build = read_build(tmp_path)
    target = target_of(build)
    assert (target.vllm_ascend, target.vllm, target.decided_by, target.asked) == ("0.30.0rc2", "0.32.0", "path", None)
    assert set(build.roots) == {"vllm", "vllm-ascend"}


def test_vllm_ascend_alone_brings_the_vllm_that_it_is_built_for(tmp_path: Path) -> None:
    target = target_of(read_build(write(tmp_path, ASCEND)))
    assert (target.vllm_ascend, target.vllm) == ("0.30.0rc2", "0.30.0")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda root: root / "nothing", "does not exist"),
        (lambda root: root, "neither vllm nor vllm_ascend"),
        (lambda root: write(root, {"vllm": "a file"}), "neither vllm nor vllm_ascend"),
        (lambda root: write(root, {"notes.txt": "x"}) / "notes.txt", "neither a folder nor a wheel"),
        (lambda root: write(root, {"x.whl": "no zip"}) / "x.whl", "cannot be unpacked"),
        (lambda root: write(root, {"x.tar.gz": "no tar"}) / "x.tar.gz", "cannot be unpacked"),
        (lambda root: wheel(root / "x.whl", {"torch/__init__.py": ""}), "neither vllm nor vllm_ascend"),
        (lambda root: Path("x\0y"), "does not exist"),
    ],
)
def test_a_path_without_a_build_says_what_was_looked_for(
    make: Callable[[Path], Path], said: str, tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match=said) as caught:
        read_build(make(tmp_path))
    assert caught.value.said.zh


def test_a_checkout_beside_what_is_installed_does_not_count(tmp_path: Path) -> None:
    write(tmp_path / SITE, VLLM)
    write(tmp_path / "src" / "old", ASCEND)
    assert set(read_build(tmp_path).roots) == {"vllm"}
