"""Chinese texts: punctuation as readers expect it, code untouched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.schemas.core.chinese import typeset
from pd_launch.schemas.core.msg import Msg


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("每张卡得到 2 GiB(不是 8 GiB),每个引擎 16 GiB", "每张卡得到 2 GiB（不是 8 GiB），每个引擎 16 GiB"),
        ("除以 8 个 rank(TP 8 × PP 1),从不除以 DP", "除以 8 个 rank(TP 8 × PP 1)，从不除以 DP"),
        ('写在顶层:{"a": true, "b": 1}', '写在顶层：{"a": true, "b": 1}'),
        ("改写成 `a, b(c): d`,然后重试", "改写成 `a, b(c): d`，然后重试"),
        ("见 https://a.b/c,另见规则", "见 https://a.b/c，另见规则"),
        ("普通抢占, 但是 没有打开。 然后", "普通抢占，但是没有打开。然后"),
        ("多了一个逗号, 请删掉", "多了一个逗号，请删掉"),
        ("报错:a;b 不行;请改!", "报错：a;b 不行；请改！"),
        ("端口(默认 8000)已被占用", "端口（默认 8000）已被占用"),
        ("decode.sh:20:71", "decode.sh:20:71"),
        ("用 `x`(`y` 的别名),或者 `z`:都可以", "用 `x`（`y` 的别名），或者 `z`：都可以"),
        ("```bash\nvllm serve m  # 注释,不动\n```\n说明,要动", "```bash\nvllm serve m  # 注释,不动\n```\n说明，要动"),
    ],
)
def test_punctuation(typed: str, shown: str) -> None:
    assert typeset(typed) == shown
    assert typeset(shown) == shown


def test_english_is_never_touched() -> None:
    assert Msg("a, b(c): d", "甲,乙").text("en") == "a, b(c): d"
    assert typeset("a, b(c): d") == "a, b(c): d"


@pytest.mark.parametrize("rule", all_rules().values(), ids=lambda rule: rule.code)
def test_the_pages_of_rules_have_no_half_width_marks_in_chinese(rule) -> None:  # type: ignore[no-untyped-def]
    for section, text in rule.page_zh.items():
        plain = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"[一-鿿][,;:]", plain), (section, plain)


def chinese(*words: str) -> str:
    """Return what a command says in Chinese."""
    return CliRunner().invoke(cli, list(words), env={"PD_LAUNCH_LANG": "zh"}).output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("decode", "--dry-run"), "--node-rank 7：这一侧的节点是 0 到 0"),
        (("doctor", "--side", "decode"), "--node-rank 7：这一侧的节点是 0 到 0"),
    ],
)
def test_refusals_of_a_launch(words: tuple[str, ...], said: str) -> None:
    assert said in chinese(*words, "--profile", "a3-dp2tp8", "--node-rank", "7")


def test_marks_of_reports_that_are_put_together(tmp_path: Path) -> None:
    log = tmp_path / "decode.log"
    log.write_text("INFO Initializing a V1 LLM engine (v0.32.0) with config: model='m'\n")
    said = chinese("logs", str(log)) + chinese("status", "http://127.0.0.1:1") + chinese("doctor")
    assert "错误 没有响应：" in said and not re.search(r"[一-鿿][,;:]|[;:][一-鿿]", said), said


def test_what_is_to_be_pasted_keeps_its_colon(tmp_path: Path) -> None:
    profile = tmp_path / "my.yaml"
    profile.write_text(
        "version: 1\nname: a\nhardware: cpu\nmodel: m\n"
        "decode: {parallel: {tensor: 1}, port: 8200, env: {LD_LIBRARY_PATH: '/usr/local/lib:$LD_LIBRARY_PATH'}}\n"
    )
    assert "请写 {prepend: …} 或 {append: …}" in chinese("check", str(profile), "--select", "PD707")


def test_severities_of_rules() -> None:
    assert "PD001  错误  " in chinese("rules")
    assert chinese("explain", "PD304").startswith("PD304 budget-too-small（错误）\n")
