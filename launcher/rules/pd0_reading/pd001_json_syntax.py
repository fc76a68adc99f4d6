"""PD001 json-syntax."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import Edits, fix
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.sources.shell.scan import OPEN
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg

ZH = r"""
JSON 参数不是严格的 JSON

## 作用

检查 `--kv-transfer-config`、`--additional-config`、`--compilation-config` 等 JSON 参数的值：多余或缺失的逗号、
留在值里的引号、多出来的反斜杠或反引号、Python 字典写法、对象结束后的内容、没有闭合的括号。

## 为什么重要

引擎要先花几十秒导入模块，然后才解析这些参数，而且只说“不是 JSON”，不指出错在您文件里的哪个位置。
上游指南自己的示例就多了一个逗号。

## 适用版本

所有版本。

## 来源

vLLM 用严格的 JSON 解析这些参数；在 0.23.0、0.27.1 和 0.32.0 上运行验证过。
"""


@rule("PD001", "json-syntax", "error", zh=ZH)
def json_syntax(deployment: Deployment) -> Iterator[Hit]:
    r"""A JSON argument is not strict JSON.

    ## What it does

    Reads the values of `--kv-transfer-config`, `--additional-config`, `--compilation-config` and the other JSON
    arguments, and reports trailing, doubled and missing commas, quotes that became part of the value, stray backslashes
    and backticks, Python dicts, text after the object, and braces that are never closed.

    ## Why it matters

    The engine parses these values only after half a minute of imports, and says that they are not JSON without saying
    where in your file. The upstream guide's own example has a trailing comma.

    ## Example

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer",}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    vLLM reads these arguments as strict JSON: run on 0.23.0, 0.27.1 and 0.32.0. Files whose name ends with .json are
    held to the same rules, even where YAML would accept them.
    """
    torn = {fault.origin.file for fault in deployment.faults_of("shell") if fault.detail.en.endswith(OPEN)}
    for fault in deployment.faults_of("json"):
        message = fault.detail
        edits = () if fault.origin.file in torn else fault.fix  # which quotes belong together, nobody knows
        yield Hit(fault.origin, message, _help(edits), fix=fix(message, edits, fault.fix_is_safe))


def _help(edits: Edits) -> Msg:
    if edits and all(not text for _, text in edits):
        return Msg("remove it", "删掉它")
    if edits:
        texts = " ".join(text for _, text in edits if text)
        return Msg(f"write {texts} here", f"这里写 {texts}")
    return Msg("write strict JSON: double quotes, no trailing commas", "写成严格的 JSON：用双引号，末尾不要多余的逗号")
