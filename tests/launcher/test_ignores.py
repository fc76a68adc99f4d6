"""Ignore comments cover what they stand beside or above, and say so when they do nothing."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import Selection, run_checks
from pd_launch.launcher.sources.read import read_texts

COMMA = """--additional-config '{"enable_cpu_binding": true,}'"""


def codes(text: str, name: str = "serve.sh", selection: Selection | None = None) -> tuple[list[str], int]:
    checked = run_checks(read_texts({name: text}, target="0.25.1rc1"), selection)
    return [finding.code for finding in checked.findings], checked.suppressed


@pytest.mark.parametrize(
    ("text", "left", "suppressed"),
    [
        (f"vllm serve /models/m {COMMA}\n", ["PD001"], 0),
        (f"vllm serve /models/m {COMMA} # pd-launch: ignore[PD001] ours\n", [], 1),
        (f"# pd-launch: ignore[PD001] ours\nvllm serve /models/m {COMMA}\n", [], 1),
        (f"# pd-launch: ignore[pd001, PD102] ours\nvllm serve /models/m {COMMA}\n", ["PD013"], 1),
        (f"# pd-launch: ignore[PD102]\nvllm serve /models/m {COMMA}\n", ["PD013", "PD001"], 0),
        (f"# pd-launch: ignore\nvllm serve /models/m {COMMA}\n", ["PD013", "PD001"], 0),
        (f"# pd-launch: ignore[PD999]\nvllm serve /models/m {COMMA}\n", ["PD013", "PD001"], 0),
        (f"# pd-launch: ignore[PD001]\n\n# why\nvllm serve /models/m \\\n  {COMMA}\n", [], 1),
        (f"# pd-launch: ignore[PD001]\necho\nvllm serve /models/m {COMMA}\n", ["PD013", "PD001"], 0),
    ],
)
def test_a_comment_covers_its_line_or_the_statement_below(text: str, left: list[str], suppressed: int) -> None:
    assert codes(text) == (left, suppressed)


def test_a_comment_inside_yaml_covers_the_value_below() -> None:
    text = """version: 1
name: x
hardware: a3
model: deepseek-ai/DeepSeek-V3.1
decode:
  parallel: {tensor: 8, data: 2, expert: true}
  # pd-launch: ignore[PD301] the total is what we want
  offload:
    cpu_bytes_to_use: 17179869184
"""
    left, suppressed = codes(text, "p.yaml")
    assert "PD301" not in left
    assert suppressed == 1
    assert "PD301" in codes(text.replace("# pd-launch: ignore[PD301] the total is what we want", "# x"), "p.yaml")[0]


def test_a_rule_that_was_not_run_is_not_called_unused() -> None:
    text = f"# pd-launch: ignore[PD001]\nvllm serve /models/m {COMMA.replace(',}', '}')}\n"
    assert codes(text) == (["PD013"], 0)
    assert codes(text, selection=Selection(select=("PD1", "PD013"))) == ([], 0)
