"""``docker run`` for one node: devices, drivers, memory and network of the guides, and the engines' command."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.launcher.formats.box import Box, FormatError, needs_shell, pieces, script
from pd_launch.launcher.formats.words import shell_word
from pd_launch.schemas.core.units import GIB
from pd_launch.schemas.profile import VolumeSection

CONTROL_DEVICES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
DRIVER_MOUNTS = (
    "/usr/local/dcmi",
    "/usr/local/Ascend/driver/tools/hccn_tool",
    "/usr/local/bin/npu-smi",
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/version.info",
    "/etc/ascend_install.info",
    "/etc/hccn.conf",
)
RUNTIME = "ascend"
"""The container runtime that brings Ascend devices and drivers by itself."""


def docker_script(boxes: Sequence[Box]) -> str:
    """Return a script that starts one node's containers.

    What is secret, or known only on the node, is taken from the environment of who runs it, by name, so that it is
    in no command line.
    """
    parts = ["#!/bin/sh", "set -eu"]
    for box in boxes:
        parts += [f'export {name}="${{{name}:?}}"' for name in box.asked]
    for box in boxes:
        lines = ["docker run --rm", *_options(box), shell_word(box.image), *_command(box)]
        parts.append(("exec " if len(boxes) == 1 else "") + " \\\n  ".join(lines))
    return "\n".join(parts) + "\n"


def _options(box: Box) -> list[str]:
    section = box.section
    options = [
        f"--name {shell_word(section.name or box.name)}",
        "--init",
        f"--stop-timeout={box.stop}",
        "--net=host",
        f"--shm-size={gib(box.shm)}",
        "--ulimit memlock=-1",
    ]
    if box.limit is not None:
        options.append(f"--memory={box.limit}b" if box.limit % GIB else f"--memory={gib(box.limit)}")
    if section.runtime:
        options.append(f"--runtime={shell_word(section.runtime)}")
    options += [f"--device {shell_word(path)}" for path in device_paths(box)]
    if box.hardware == "cuda":
        options.append(f"--gpus {gpus(box)}")
    options += [f"-v {shell_word(mount)}" for mount in mounts(box)]
    options += [f"-e {name}" for name in box.asked]
    options += [f"-e {shell_word(f'{n}={v.value}')}" for n, v in box.variables.items() if not v.ask]
    if section.runtime == RUNTIME and box.devices is not None:
        options.append(f"-e ASCEND_VISIBLE_DEVICES={','.join(map(str, box.devices))}")
    return options if box.ascend else [*options, f"--entrypoint {program(box)}"]


def program(box: Box) -> str:
    """Return what the container runs.

    On Ascend it comes after the image's own entrypoint, which sources CANN; on others in its place.
    """
    return "bash" if needs_shell(box) else "vllm"


def _command(box: Box) -> list[str]:
    own = [program(box)] if box.ascend else []
    if needs_shell(box):
        return [*own, f"-c {shell_word(script(box, shell_word, [{}] * len(box.launches)))}"]
    lines = own
    for piece in pieces(box.launches[0], {}):
        if piece.text.startswith("--") or not lines:
            lines.append(shell_word(piece.text))
        else:
            lines[-1] += f" {shell_word(piece.text)}"
    return lines


def gib(size: int) -> str:
    """Return a whole number of GiB as Docker and compose write it; another size in bytes."""
    return f"{size // GIB}g" if size % GIB == 0 else f"{size}b"


def device_paths(box: Box) -> list[str]:
    """Return the device files that a container is given: the profile's own, and NPUs that no runtime brings."""
    own = list(box.section.devices)
    if not box.ascend or box.section.runtime == RUNTIME:
        return own
    numbers = box.devices if box.devices is not None else list(range(box.ranks))
    return [*(f"/dev/davinci{number}" for number in numbers), *CONTROL_DEVICES, *own]


def gpus(box: Box) -> str:
    """Return the value of ``--gpus``: how many, or which where the profile names them."""
    if "CUDA_VISIBLE_DEVICES" not in {name for launch in box.launches for name in launch.env} or box.devices is None:
        return str(box.ranks)
    return f"'\"device={','.join(map(str, box.devices))}\"'"


def mounts(box: Box) -> list[str]:
    """Return the mounts ``HOST:CONTAINER[:MODE]``: drivers, the model where it is a path, and the profile's own."""
    driver = DRIVER_MOUNTS if box.ascend and box.section.runtime != RUNTIME else ()
    found = [f"{path}:{path}" for path in driver]
    model = model_path(box)
    if model is not None:
        found.append(f"{model}:{model}:ro")
    found += box.section.mounts
    for volume in box.section.volumes:
        found.append(_mount(volume))
    return found


def _mount(volume: VolumeSection) -> str:
    """Return a volume as Docker mounts it.

    Raises:
        FormatError: only a cluster has it.
    """
    if volume.host is None and volume.empty is None:
        raise FormatError(
            f"container.volumes: {volume.path} is a {'claim' if volume.pvc else 'Secret'}, which only a cluster has; "
            "write host: FOLDER for Docker"
        )
    source = volume.host if volume.host is not None else ""
    return (f"{source}:" if source else "") + volume.path + (":ro" if volume.read_only and source else "")


def model_path(box: Box) -> str | None:
    """Return the model's path where it is one on the host and no mount of the profile's covers it."""
    model = str(box.launches[0].model.value) if box.launches[0].model else ""
    if not model.startswith("/"):
        return None
    targets = [mount.split(":")[1].rstrip("/") for mount in box.section.mounts if ":" in mount]
    targets += [volume.path.rstrip("/") for volume in box.section.volumes]
    return None if any(model == t or model.startswith(f"{t}/") for t in targets) else model
