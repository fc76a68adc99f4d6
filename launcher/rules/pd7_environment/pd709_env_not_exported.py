"""PD709 env-not-exported."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.releases.environment import known_names

INHERITED = frozenset({"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "HOME", "USER", "LANG", "TMPDIR"})
"""What is in the environment of nearly every shell: setting it changes what the engine is given."""

ZH = r"""
变量没有导出，引擎读不到

## 作用

脚本给引擎会读取的变量（`VLLM_*`、`HCCL_*`、`LMCACHE_*`、`PYTHONHASHSEED` 等）赋了值，却没有 `export`，
也没有写在命令前面，而且脚本自己也不读取它时报告。

## 为什么重要

没有导出的变量只在 shell 内部有效。引擎会按默认值运行，例如没有读到 LMCache 的配置文件，或者没有固定的哈希种子。

## 适用版本

所有版本。

## 来源

bash 手册的 Environment 一节；各版本读取的变量见变量表。
"""


@rule("PD709", "env-not-exported", "warning", zh=ZH)
def env_not_exported(node: NodeLaunch, _: Deployment) -> Iterator[Hit]:
    r"""A variable that the script sets but does not export: the engine never sees it.

    ## What it does

    Fires where a script assigns a variable that engines read (`VLLM_*`, `HCCL_*`, `LMCACHE_*`, `PYTHONHASHSEED` and
    similar), neither exports it nor writes it in front of the command, and does not read it itself.

    ## Why it matters

    A variable that is not exported stays in the shell. The engine runs on its defaults: without LMCache's configuration
    file, for example, or without a fixed hash seed.

    ## Example

    ```bash
    LMCACHE_CONFIG_FILE=/etc/lmcache.yaml
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_producer"}'
    ```

    ## Use instead

    ```bash
    export LMCACHE_CONFIG_FILE=/etc/lmcache.yaml
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_producer"}'
    ```

    ## Releases

    All.

    ## Sources

    The section Environment of bash's manual; which variables are read is in the tables.
    """
    if node.env_open is not None:
        return  # what adds further variables may export these too
    for name, origin in node.kept.items():
        if name in INHERITED or name in node.env or name not in known_names():
            continue
        yield Hit(
            origin,
            Msg(
                f"{name} is set but not exported: the engine does not see it",
                f"{name} 已赋值但没有导出，引擎读不到它",
            ),
            Msg(f"write export {name}=…", f"写成 export {name}=…"),
        )
