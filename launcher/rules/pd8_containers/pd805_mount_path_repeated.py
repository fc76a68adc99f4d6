"""PD805 mount-path-repeated."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Container, Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.machines import by_container

ZH = """
同一个容器里，一个路径被挂载了两次

## 作用

Pod 的一个容器在 `volumeMounts` 里把同一个 `mountPath` 写了两次，或者 `docker run` 用两个不同的 `-v` 挂载到同一个
路径时报告。两个完全相同的 `-v`，docker 只当作一个，不报告；compose 会合并，也不报告。

## 为什么重要

Kubernetes 会拒绝整个对象（`mountPath` "must be unique"），docker 以 "Duplicate mount point" 退出：引擎根本不会启动。

## 适用版本

所有版本。

## 来源

Kubernetes 的 pkg/apis/core/validation/validation.go（ValidateVolumeMounts）；
moby 的 daemon/volumes_unix.go 与 volume/mounts。
"""


@rule("PD805", "mount-path-repeated", "error", zh=ZH, needs="C")
def mount_path_repeated(deployment: Deployment) -> Iterator[Hit]:
    r"""One path is mounted twice in one container.

    ## What it does

    Fires where a container of a pod names one `mountPath` twice among its `volumeMounts`, and where two different `-v`
    of one `docker run` lead to the same path. To docker, two identical `-v` are one, and compose merges them: both are
    left alone.

    ## Why it matters

    Kubernetes refuses the whole object (`mountPath` "must be unique"), and docker ends with "Duplicate mount point":
    the engine is never started.

    ## Example

    ```bash
    docker run --rm --shm-size=16g -v /data/a:/models -v /data/b:/models vllm/vllm-openai:v0.32.0 --model /models/m
    ```

    ## Use instead

    ```bash
    docker run --rm --shm-size=16g -v /data/a:/models -v /data/b:/cache vllm/vllm-openai:v0.32.0 --model /models/m
    ```

    ## Releases

    All.

    ## Sources

    pkg/apis/core/validation/validation.go of Kubernetes (ValidateVolumeMounts); daemon/volumes_unix.go and
    volume/mounts of moby.
    """
    for container, _ in by_container(deployment):
        if container.form not in ("manifest", "docker"):
            continue
        seen: dict[str, tuple[Node, str]] = {}
        for mount in container.mounts:
            written = mount.string()
            path = _inside(written, container) if written is not None else None
            if path is None or written is None:
                continue
            earlier, text = seen.setdefault(path, (mount, written))
            if earlier is mount or (container.form == "docker" and text == written):
                continue
            yield Hit(
                mount.origin,
                Msg(
                    f"{path} is mounted twice in this container, so it never starts",
                    f"{path} 在这个容器里被挂载了两次，容器不会启动",
                ),
                Msg("remove one of the two mounts, or give it a different path", "删去其中一个，或者换一个路径"),
                related=((earlier.origin, Msg("the other mount", "另一个挂载")),),
            )


def _inside(mount: str, container: Container) -> str | None:
    """Return the path inside the container; None where it is not surely one.

    Kubernetes compares the texts, docker what they lead to.
    """
    parts = mount.split(":")
    if len(parts) < 2 or not parts[1].startswith("/") or (container.form == "docker" and not parts[0]):
        return None
    return parts[1] if container.form == "manifest" else parts[1].rstrip("/") or "/"
