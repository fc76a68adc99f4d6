"""PD013 unused-ignore."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.sources.release.release_words import FAULT as COMMENT
from pd_launch.schemas.core.launch import Deployment

ZH = """
写给 pd-launch 的注释没有作用

## 作用

`# pd-launch: ignore[…]` 注释没有写规则代码，或者所写的规则在那里本来就没有问题时报告；`# pd-launch: target …` 注释
没有写出能识别的版本，或者 `pd-launch:` 后面的词写错时也报告。

## 为什么重要

没有作用的忽略注释会在以后悄悄盖住真正的问题；没有作用的 target 注释会让检查用错版本。

## 示例

```bash
# pd-launch: ignore[PD001] 逗号是有意的
vllm serve /models/m --port 8100
```

## 适用版本

所有版本。

## 来源

pd-launch 自己的约定。
"""


@rule("PD013", "unused-ignore", "warning", zh=ZH)
def unused_ignore(deployment: Deployment) -> Iterator[Hit]:
    """A comment for pd-launch has no effect.

    ## What it does

    Fires on a comment `# pd-launch: ignore[…]` that names no code, or whose codes are not reported at that place; on a
    comment `# pd-launch: target …` that does not name a readable release; and where the word after `pd-launch:` is
    misspelt.

    ## Why it matters

    An ignore that does nothing today can hide a real fault tomorrow, and without its target comment a file is checked
    for the wrong release.

    ## Example

    ```bash
    # pd-launch: ignore[PD001] a comma of ours
    vllm serve /models/m --port 8100
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --port 8100
    ```

    ## Releases

    All.

    ## Sources

    A convention of pd-launch itself.
    """
    for fault in [*deployment.faults_of("ignore"), *deployment.faults_of(COMMENT)]:
        yield Hit(fault.origin, fault.detail, fault.help)
