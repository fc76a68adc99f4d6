"""The third environment: Python code of vLLM 0.23.0 and the published source of vllm-ascend, for contract tests.

vllm-ascend's source package builds kernels for an NPU when it is installed. It is only downloaded here and its Python
files are put beside vLLM's, so that its scheduler can be imported on any machine. Nothing in it can serve a model: the
C extension of vLLM 0.23.0 does not load with the torch that the other environments share.
"""

from __future__ import annotations

import os
import pathlib
import tarfile
import tempfile

from setup_tools import SetupError, run

SUFFIX = "-contract"
ASCEND = "0.23.0.post1"
# Read by vllm-ascend's build script: no kernels, and a chip that need not be there.
BUILD = {"COMPILE_CUSTOM_KERNELS": "0", "SOC_VERSION": "ascend910b1"}


def release(name: str) -> str:
    """Return the vLLM release of an environment's name."""
    return name.removesuffix(SUFFIX).removesuffix("-python")


def is_contract(name: str) -> bool:
    """Whether an environment is for contract tests."""
    return name.endswith(SUFFIX)


def install_ascend(python: pathlib.Path, packages: pathlib.Path) -> None:
    """Put vllm-ascend's Python files into ``packages``; ``python`` has pip and what the package's build script imports.

    Raises:
        SetupError: the source package cannot be had, or holds no Python files.
    """
    with tempfile.TemporaryDirectory() as tmp:
        command = ["env", *(f"{name}={value}" for name, value in BUILD.items()), f"PATH={_path(python)}"]
        command += [str(python), "-m", "pip", "--disable-pip-version-check", "download", "-q", "--no-deps"]
        command += ["--no-build-isolation", "--no-binary", ":all:", "-d", tmp, f"vllm-ascend=={ASCEND}"]
        run(f"source of vllm-ascend {ASCEND}", *command)
        archives = list(pathlib.Path(tmp).glob("*.tar.gz"))
        if not archives:
            raise SetupError(f"vllm-ascend {ASCEND}: pip downloaded no source package")
        unpack(archives[0], packages)


def unpack(archive: pathlib.Path, packages: pathlib.Path) -> None:
    """Extract the package's ``vllm_ascend/**/*.py`` into ``packages``.

    Raises:
        SetupError: there are none.
    """
    count = 0
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = pathlib.PurePosixPath(member.name).parts[1:]
            data = tar.extractfile(member) if member.isfile() else None
            if data is None or parts[:1] != ("vllm_ascend",) or not member.name.endswith(".py") or ".." in parts:
                continue
            target = packages.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data.read())
            count += 1
    if not count:
        raise SetupError(f"{archive.name} holds no Python files below vllm_ascend/")


def _path(python: pathlib.Path) -> str:
    return os.pathsep.join([str(python.parent), os.environ.get("PATH", os.defpath)])
