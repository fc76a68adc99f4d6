"""An environment of a vLLM release that has no CPU build: its Python files over another release's C extensions.

The index has a CUDA wheel of vLLM 0.33.0 and no CPU build. Its parser, its configuration and its scheduler are Python,
so the truth tests run with them: the Python files come from the wheel, everything else stays 0.32.0's. Whether a model
runs on the older extensions is not promised, though simple ones did.
"""

from __future__ import annotations

import pathlib
import zipfile

from setup_tools import SetupError, run

SUFFIX = "-python"
BASE = "0.32.0"
"""The release whose environment, C extensions and data files are used."""


def is_python(name: str) -> bool:
    """Whether an environment has Python files alone of its release."""
    return name.endswith(SUFFIX)


def install(base: pathlib.Path, packages: pathlib.Path, release: str, pins: pathlib.Path) -> None:
    """Put vLLM ``release`` into ``packages``.

    Args:
        base: site-packages of the environment whose extensions are used.
        packages: site-packages of the new one, which comes before it.
        release: the release of vLLM.
        pins: the file of what it needs beside what the older release needs.

    Raises:
        SetupError: its wheel cannot be had.
    """
    python = base.parents[2] / "bin" / "python"
    pip: list[str | pathlib.Path] = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "-q",
        "--no-deps",
        "--target",
        packages,
    ]
    run(f"what vLLM {release} needs", *pip, "-r", pins)
    scripts = pathlib.Path(__file__).resolve().parent
    fetch = f"import sys; sys.path[:0] = {[str(scripts), str(scripts.parent)]!r}; import release_archives as r; "
    fetch += f"print(r.python_files('vllm', {release!r}))"
    archive = run(f"Python files of vLLM {release}", python, "-c", fetch).strip().splitlines()[-1]
    with zipfile.ZipFile(archive) as files:
        names = [name for name in files.namelist() if name.startswith("vllm/") and name.endswith(".py")]
        if not names:
            raise SetupError(f"{archive} holds no Python files of vLLM")
        files.extractall(packages, names)
    for path in sorted((base / "vllm").rglob("*")):
        place = packages / path.relative_to(base)
        if path.is_file() and path.suffix not in (".py", ".pyc") and place.parent.is_dir() and not place.exists():
            place.symlink_to(path)
    metadata = packages / f"vllm-{release}.dist-info" / "METADATA"
    metadata.parent.mkdir(exist_ok=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {release}+cpu\n")
