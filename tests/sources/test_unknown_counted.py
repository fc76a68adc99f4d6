"""What is read and not understood counts as unknown: no rule judges it, and ``--verbose`` names it."""

from __future__ import annotations

import pytest
from reading import deployment

from pd_launch.launcher.check.run import check
from pd_launch.launcher.check.unknowns import blind
from pd_launch.launcher.sources.read import read_texts

RUN = "import subprocess\nfrom vllm import LLM\nfrom vllm.config import KVTransferConfig\nimport json, os\n"


def codes(text: str, name: str = "a.py") -> list[str]:
    return [finding.code for finding in check(read_texts({name: text}, target="vllm:0.32.0"))]


def unknown(text: str, name: str = "a.py") -> list[tuple[str, int]]:
    """Return what is counted, with its lines."""
    found = blind(read_texts({name: text}, target="vllm:0.32.0"), [])
    return [(what, place.line) for one in found.unseen for what, place in one.values]


@pytest.mark.parametrize(
    ("written", "counted"),
    [
        ("['vllm', 'serve', 'm', *[f'--x={v}' for v in xs]]", [("…", 5)]),
        ("['vllm', 'serve', 'm', *(v for v in xs)]", [("…", 5)]),
        ("['vllm', 'serve', 'm', *sorted({'--enforce-eager', x})]", [("…", 5)]),
        ("['vllm', 'serve', 'm', *map(str, xs)]", [("…", 5)]),
        ("['vllm', 'serve', 'm'] + [f'--x={v}' for v in xs]", [("…", 5)]),
        ("[*'vllm serve m'.split(), *xs]", [("…", 5)]),
        ("['vllm', 'serve', 'm', f\"--{k.replace('_', '-')}\"]", [("…", 5), ("--…", 5)]),
        ("['vllm', 'serve', 'm', f\"--{k.replace('_', '-')}={v}\"]", [("…", 5), ("--…", 5), ("--…", 5)]),
        ("['vllm', 'serve', 'm', f'--{k}', '8', f'--{j}', '9']", [("…", 5), ("--…", 5), ("--…", 5)]),
    ],
)
def test_words_of_python_that_are_not_known_are_counted(written: str, counted: list[tuple[str, int]]) -> None:
    text = f"{RUN}subprocess.run({written})\n"
    assert codes(text) == []
    assert unknown(text) == counted


@pytest.mark.parametrize(
    "written",
    [
        "['vllm', 'serve', *filter(None, ['m', '--max-num-batched-tokns', '64'])]",
        "['vllm', *filter(None, ['serve', 'm', '--max-num-batched-tokns', '64'])]",
        "list(filter(None, ['vllm', 'serve', 'm', '--max-num-batched-tokns', '64']))",
        "['vllm', *map(str, ['serve', 'm', '--max-num-batched-tokns', 64])]",
        "[*'vllm serve m --max-num-batched-tokns 64'.split()]",
        "'vllm serve m'.split() + ['--max-num-batched-tokns', '64']",
        "['vllm', *shlex.split('serve \"m\" --max-num-batched-tokns 64')]",
    ],
)
def test_calls_that_give_a_list_again_are_followed(written: str) -> None:
    assert codes(f"{RUN}subprocess.run({written})\n") == ["PD004"]


@pytest.mark.parametrize(
    "config",
    [
        "{**base, 'kv_role': 'kv_consumer'}",
        "{'kv_role': 'kv_consumer', **base}",
        "dict(base, kv_role='kv_consumer')",
        "dict(kv_role='kv_consumer', **base)",
        "KVTransferConfig(**base, kv_role='kv_consumer')",
    ],
)
def test_a_mapping_with_entries_that_are_not_known_lacks_nothing(config: str) -> None:
    """Once they were judged as if the rest held nothing: "no kv_connector"."""
    text = f"{RUN}LLM('m', kv_transfer_config={config})\n"
    assert codes(text) == []
    assert unknown(text) == [("--kv-transfer-config.…", 5)]
    if "KVT" not in config:
        text = f"{RUN}subprocess.run(['vllm', 'serve', 'm', '--kv-transfer-config', json.dumps({config})])\n"
        assert codes(text) == [] and unknown(text) == [("--kv-transfer-config.…", 5)]


@pytest.mark.parametrize("given", ["**base", "**dict(base)", "**{**base, 'seed': 1}", "**dict(base, seed=1)"])
def test_an_engine_that_is_given_a_mapping_nobody_knows_has_more_arguments(given: str) -> None:
    node = deployment({"a.py": f"{RUN}LLM('m', {given})\n"}).nodes[0]
    assert node.partial and all("\ue000" not in arg.name for arg in node.args)
    assert (node.arg("seed") is not None) == ("seed" in given)


def test_an_environment_with_more_is_no_variable() -> None:
    text = f"{RUN}subprocess.run(['vllm', 'serve', 'm'], env={{**os.environ, **base, 'A': '1'}})\n"
    node = deployment({"a.py": text}).nodes[0]
    assert list(node.env) == ["A"] and node.env_open is not None
    assert unknown(text) == []


def test_a_key_that_is_not_known_is_counted_in_json_too() -> None:
    text = 'vllm serve m --kv-transfer-config "{\\"kv_role\\":\\"kv_consumer\\", \\"$KEY\\": \\"x\\"}"\n'
    assert unknown(text, "a.sh") == [("--kv-transfer-config.…", 1)]


STEP = """\
on: push
env: {{ARGS: --seed 1, TP: "8"}}
jobs:
  a:
    steps:
      - run: {}
"""


@pytest.mark.parametrize(
    ("step", "counted"),
    [
        ("vllm serve m ${{ env.ARGS }}", [("…", 6)]),
        (
            "vllm serve m ${{ env.ARGS }} --tensor-parallel-size ${{ env.TP }}",
            [("…", 6), ("--tensor-parallel-size", 6)],
        ),
        ("vllm serve ${{ env.MODEL }} ${{ env.ARGS }}", [("…", 6), ("model", 6)]),
        ("vllm serve m --tensor-parallel-size ${{ env.TP }}", [("--tensor-parallel-size", 6)]),
        ("${{ env.PREFIX }} vllm serve m ${{ env.ARGS }}", [("…", 6)]),
    ],
)
def test_what_a_workflow_fills_in_is_counted(step: str, counted: list[tuple[str, int]]) -> None:
    assert codes(STEP.format(step), "ci.yaml") == []
    assert unknown(STEP.format(step), "ci.yaml") == counted
    wrong = STEP.format(f"{step} --max-num-batched-tokns 64")
    assert codes(wrong, "ci.yaml") == ["PD004"]


WRONG = "vllm serve m --max-num-batched-tokns 64"


@pytest.mark.parametrize(
    "shown",
    [
        f"<pre><code>{WRONG}</code></pre>",
        f'<pre><code class="language-bash">{WRONG}</code></pre>',
        f"<pre>{WRONG}</pre>",
        f"<p><code>{WRONG}</code></p>",
        f'<div class="x"><pre><span></span><code>{WRONG}',
        f"<li>pip install vllm &amp;&amp; {WRONG}<br>done</li>",
        '<PRE><CODE><span class="go">vllm</span> serve m <span>--max-num-batched-tokns</span> 64</PRE>',
    ],
)
@pytest.mark.parametrize("name", ["page.md", "page.html"])
def test_a_command_between_tags_on_one_line_is_read(shown: str, name: str) -> None:
    text = f"# Run it\n\n<pre>\nls\n</pre>\n{shown}\n\nThis is how.\n"
    found = check(read_texts({name: text}, target="vllm:0.32.0"))
    column = shown.index("--max-num-batched-tokns") + 1
    assert [(f.code, f.line, f.column) for f in found] == [("PD004", 6, column)]


@pytest.mark.parametrize("shown", ["Run <code>{}</code> now.", "<p>Never run {} there</p>", "<em>We</em> say {}"])
def test_a_sentence_with_tags_starts_nothing(shown: str) -> None:
    text = f"<pre>\nvllm serve m --port 8123\n</pre>\n{shown.format(WRONG)}\n"
    assert codes(text, "page.md") == []


def test_placeholders_in_angle_brackets_are_no_tags() -> None:
    node = deployment({"a.md": "<pre>vllm serve <model> --served-model-name &lt;name&gt;</pre>\n"}).nodes[0]
    name = node.value("served-model-name")
    assert node.model is not None and node.model.value == "<model>" and name is not None and name.value == "<name>"
