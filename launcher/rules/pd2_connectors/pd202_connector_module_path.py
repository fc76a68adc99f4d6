"""PD202 connector-module-path."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, remove_entry
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.budget import OFFLOAD_NAMES
from pd_launch.schemas.engine.kv_transfer import BUNDLED_MODULE, connectors, offload_name
from pd_launch.schemas.releases.connectors import MOVED_MODULES, class_of_module, registered
from pd_launch.schemas.releases.vllm_tables import vllm_table

KEY = "kv_connector_module_path"
OLD_LAYOUT = lazy_pattern(r"vllm_ascend\.distributed\.(kv_transfer\.)?[a-z0-9_]*connector[a-z0-9_]*")
"""Since 0.18 connectors are in packages of kv_transfer; what is next to those packages is known."""

ZH = """
kv_connector_module_path 不对

## 作用

检查 `kv_connector_module_path`：值为空，指向已经移走的模块，或者模块里的类名与 `kv_connector` 不同。

## 为什么重要

写了模块路径，注册表就不再起作用：引擎会导入那个模块，取其中名称与 `kv_connector` 相同的类，取不到就在启动时退出。

## 适用版本

所有版本。

## 来源

vLLM 的 kv_connector/factory.py，运行验证过；模块位置来自 vllm-ascend 0.18.0 至 0.26.0rc1 的发行包。
"""


@rule("PD202", "connector-module-path", "error", zh=ZH, needs="C R")
def connector_module_path(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""kv_connector_module_path does not lead to the connector.

    ## What it does

    Looks at `kv_connector_module_path`: it is empty, leads to a module that has moved, or to one whose class is not
    named like `kv_connector`.

    ## Why it matters

    With a module path the registry is no longer used: the engine imports that module, takes the class named like
    `kv_connector`, and stops at start where there is none.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both",
      "kv_connector_module_path": "vllm_ascend.distributed.mooncake_connector"}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'
    ```

    ## Releases

    All.

    ## Sources

    vLLM's kv_connector/factory.py, run; places of modules from the wheels of vllm-ascend 0.18.0 to 0.26.0rc1.
    """
    target = deployment.target
    for connector in connectors(node.kv_transfer):
        path, name = connector.tree.get(KEY), connector.name
        module = path.string() if path else None
        if path is None or module is None or name is None:
            continue
        known = registered(name, target)
        if not module.strip():
            what = Msg(f"{KEY} is empty: the engine refuses it", f"{KEY} 为空：引擎会拒绝")
        elif module.split(".")[0] in ("pd_launch", "pd-launch"):
            wrong = _bundled(module, name, offload_name(target))
            if wrong is not None:
                yield Hit(path.origin, *wrong)
            continue
        elif module in MOVED_MODULES or (module.startswith("vllm_ascend.") and _gone(module, deployment)):
            new = MOVED_MODULES.get(module) or ""
            now, now_zh = (f"; it is now {new}", f"，现在是 {new}") if new else ("", "")
            what = Msg(f"{target} has no module {module}{now}", f"{target} 没有模块 {module}{now_zh}")
        else:
            own = class_of_module(module, target) or _class_in_vllm(module, name, deployment)
            if own is None or own == name:
                continue
            what = Msg(
                f"the class in {module} is called {own}, not {name}: the path wins over the registered name",
                f"{module} 里的类叫 {own}，不叫 {name}：模块路径优先于注册的名称",
            )
        yield Hit(path.origin, what, _help(name, known), fix=_remove(path) if known else None)


def _bundled(module: str, name: str, right: str) -> tuple[Msg, Msg] | None:
    if not f"{module}.".startswith(f"{BUNDLED_MODULE}."):
        return (
            Msg(f"there is no module {module}", f"没有模块 {module}"),
            Msg(f'write "{BUNDLED_MODULE}"', f'写成 "{BUNDLED_MODULE}"'),
        )
    if name not in OFFLOAD_NAMES:
        return (
            Msg(f"{module} has no connector {name}", f"{module} 里没有连接器 {name}"),
            Msg(f'with this module path kv_connector is "{right}"', f'用这个模块路径时，kv_connector 应写 "{right}"'),
        )
    return None


def _class_in_vllm(module: str, name: str, deployment: Deployment) -> str | None:
    """Return the registered class in one of vLLM's own modules, where that module has no class ``name``."""
    table = vllm_table(deployment.target)
    classes = table.entry("modules", module)
    if classes is None or name in classes:
        return None
    rows = (table.entry("connectors", known) for known in table.names("connectors"))
    return next((class_ for path, class_ in rows if path == module), None)


def _gone(module: str, deployment: Deployment) -> bool:
    """Whether a module of vllm-ascend is a known one that the target does not have (yet), or of the old layout."""
    known = class_of_module(module, deployment.target)
    return deployment.target.is_ascend and (known == "" or (known is None and OLD_LAYOUT.fullmatch(module) is not None))


def _help(name: str, known: bool) -> Msg:
    if known:
        return Msg(f"remove {KEY}: {name} is registered by name", f"删掉 {KEY}：{name} 已按名称注册")
    return Msg(
        f"remove {KEY} and use a registered name, or give the module's full path",
        f"删掉 {KEY} 并使用已注册的名称，或者写出模块的完整路径",
    )


def _remove(path: Node) -> FixEdits | None:
    return fix(Msg(f"remove {KEY}", f"删掉 {KEY}"), remove_entry(path))
