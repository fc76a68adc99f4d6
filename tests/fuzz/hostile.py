"""Inputs that are meant to take long, to take memory, or to go deep."""

from __future__ import annotations

_SERVE = "vllm serve m "
_KV = " --kv-transfer-config '{}'\n"


def _laughs(levels: int, width: int) -> str:
    rows = ["a0: &a0 [x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(rows) + "\n"


HOSTILE: dict[str, tuple[str, str]] = {
    "yaml-laughs": ("a.yaml", _laughs(30, 10)),
    "yaml-merge-laughs": (
        "a.yaml",
        "a0: &a0 {k0: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}], k{i}: 1}}\n" for i in range(1, 60)),
    ),
    "yaml-deep-flow": ("a.yaml", "version: 1\ndecode: " + "[" * 100_000),
    "yaml-deep-block": ("a.yaml", "version: 1\ndecode:\n" + "".join(" " * i + "a:\n" for i in range(1, 2000))),
    "yaml-deep-maps": ("a.yaml", "apiVersion: v1\nkind: Pod\nspec: " + "{a: " * 50_000),
    "yaml-many": ("a.yaml", "services:\n" + "".join(f"  s{i}: {{command: vllm serve m}}\n" for i in range(20_000))),
    "yaml-long-line": ("a.yaml", "services: {a: {command: '" + "x " * 400_000 + "'}}"),
    "yaml-long-key": ("a.yaml", "version: 1\ndecode: {}\n" + "k" * 300_000 + ": 1\n"),
    "yaml-self": ("a.yaml", "apiVersion: v1\nkind: Pod\na: &a [*a]\n"),
    "yaml-tags": ("a.yaml", "version: !!int [\ndecode: !!python/object/apply:os.system ['x']\n"),
    "yaml-ranks": (
        "a.yaml",
        "config:\n- {node_index: 0, dp_size: 1000000000, dp_size_local: 1000000000, "
        "dp_rank_start: 0, tp_size: 1000000000}\n"
        "templates:\n- {node_index: 0, server_cmd_template: 'vllm serve m --data-parallel-rank ${DP_RANK}'}\n",
    ),
    "profile-ranks": (
        "a.yaml",
        "version: 1\nhardware: a3\nmodel: m\n"
        "decode: {parallel: {tensor: 1000000, data: 100000000, launch: external}}\n",
    ),
    "profile-nodes": (
        "a.yaml",
        "version: 1\nhardware: a3\nmodel: m\n"
        "decode: {parallel: {tensor: 1, data: 5000, launch: external}}\nnodes: {decode: ["
        + ", ".join(["{address: 192.0.2.1}"] * 5000)
        + "]}\n",
    ),
    "shell-doubling": ("a.sh", "A=xxxxxxxxxx\n" + "A=$A$A\n" * 60 + "vllm serve $A\n"),
    "shell-arrays": ("a.sh", "A=(x y)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 60 + 'vllm serve "${A[@]}"\n'),
    "shell-recursion": ("a.sh", "f() { f; f; }\nf\n"),
    "shell-mutual": ("a.sh", "f() { g $1 $1; }\ng() { f $1$1 $2; f; }\nf x\nvllm serve m\n"),
    "shell-loops": (
        "a.sh",
        "".join(f"for i{n} in $(seq 1 200); do\n" for n in range(8)) + _SERVE + "\n" + "done\n" * 8,
    ),
    "shell-c-loop": ("a.sh", "for ((i=0;i<1000000000;i++)); do " + _SERVE + "--port $i; done\n"),
    "shell-deep-if": ("a.sh", "if x; then\n" * 5000 + _SERVE + "\nfi" * 5000),
    "shell-wide-if": ("a.sh", "".join(f"if x; then A=$A{i}; fi\n" for i in range(4000)) + _SERVE + "$A\n"),
    "shell-deep-subst": ("a.sh", "A=" + "$(" * 5000 + ")" * 5000 + "\n"),
    "shell-deep-quotes": ("a.sh", 'A="' + '$("' * 3000),
    "shell-deep-default": ("a.sh", "A=" + "${B:-" * 3000 + "x" + "}" * 3000 + "\n" + _SERVE + "$A\n"),
    "shell-substituted-engines": ("a.sh", "A=" + "$(" * 60 + _SERVE + ")" * 60 + "\n"),
    "shell-printed-engines": ("a.sh", "A=" + "$(echo " * 60 + _SERVE + ")" * 60 + "\n"),
    "shell-doubled-parameters": ("a.sh", "set -- a b\n" + "set -- $@ $@\n" * 60 + _SERVE + "\n"),
    "shell-aliases": ("a.sh", "alias a='a a; a'\n" + "a\n" * 500 + _SERVE + "\n"),
    "shell-functions": ("a.sh", "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; {_SERVE}; }}\n" for i in range(60))),
    "shell-arithmetic": ("a.sh", "A=$((" + "(" * 3000 + "1" + ")" * 3000 + "))\n"),
    "shell-sum": ("a.sh", "A=$((" + "1+" * 20_000 + "1))\n" + _SERVE + "--port $A\n"),
    "shell-power": ("a.sh", "A=9\n" + "A=$((A*A))\n" * 80 + _SERVE + "--port $A\n"),
    "shell-long-line": ("a.sh", _SERVE + "--port 1 " * 60_000),
    "shell-many-lines": ("a.sh", (_SERVE + "--port 1\n") * 20_000),
    "shell-continued": ("a.sh", _SERVE + "\\\n" * 50_000),
    "shell-heredocs": ("a.sh", "bash <<A\n" * 500 + _SERVE),
    "shell-nested-c": ("a.sh", 'bash -c "' * 200 + _SERVE),
    "shell-quotes": ("a.sh", "'\"" * 100_000),
    "shell-backslashes": ("a.sh", _SERVE + "\\" * 200_000),
    "shell-braces": ("a.sh", _SERVE + "{a,b}" * 5000 + "\n"),
    "json-deep": ("a.sh", _SERVE + _KV.replace("{}", '{"a":' * 60_000)),
    "json-deep-lists": ("a.sh", _SERVE + _KV.replace("{}", '{"a":' + "[" * 60_000)),
    "json-multi": (
        "a.sh",
        _SERVE
        + _KV.replace(
            "{}",
            '{"kv_connector":"MultiConnector","kv_role":"kv_both","kv_connector_extra_config":{"connectors":[' * 400,
        ),
    ),
    "json-children": (
        "a.sh",
        _SERVE
        + _KV.replace(
            "{}",
            '{"kv_connector":"MultiConnector","kv_role":"kv_consumer","kv_connector_extra_config":{"connectors":['
            + ",".join(['{"kv_connector":"RecomputeCPUOffloadConnector","kv_role":"kv_consumer"}'] * 2000)
            + "]}}",
        ),
    ),
    "json-number": ("a.sh", _SERVE + _KV.replace("{}", '{"kv_port":' + "9" * 50_000 + "}")),
    "json-exponent": ("a.sh", _SERVE + _KV.replace("{}", '{"kv_port":1e99999999999}')),
    "json-surrogates": (
        "a.sh",
        _SERVE + _KV.replace("{}", '{"kv_connector":"\\ud800\\udfff\\u0000","kv_role":"\\ud800"}'),
    ),
    "json-keys": ("a.sh", _SERVE + _KV.replace("{}", "{" + ",".join(f'"k{i}":1' for i in range(8000)) + "}")),
    "json-same-key": ("a.sh", _SERVE + _KV.replace("{}", "{" + ",".join(['"kv_role":"kv_both"'] * 8000) + "}")),
    "json-commas": ("a.sh", _SERVE + _KV.replace("{}", "{" + "," * 50_000 + "}")),
    "dotted-deep": ("a.sh", _SERVE + "--kv-transfer-config" + ".a" * 20_000 + " 1\n"),
    "dotted-many": ("a.sh", _SERVE + "".join(f"--kv-transfer-config.k{i} 1 " for i in range(4000))),
    "flags-many": ("a.sh", _SERVE + "".join(f"--flag-{i} 1 " for i in range(4000))),
    "flags-same": ("a.sh", _SERVE + "--max-num-seqs 8 " * 8000),
    "sizes-huge": (
        "a.sh",
        _SERVE + "--tensor-parallel-size 999999999999 --data-parallel-size 999999999999 --port 65535\n",
    ),
    "devices-huge": (
        "a.sh",
        "export ASCEND_RT_VISIBLE_DEVICES=0-99999999999\n" + _SERVE + "--tensor-parallel-size 8\n",
    ),
    "ports-huge": ("a.sh", "docker run -p 1-65535:1-65535 -p 0-99999999999:1 img:v0.25.1 " + _SERVE + "\n"),
    "python-deep": ("a.py", "from vllm import LLM\nLLM(" + "(" * 150 + "1" + ")" * 150 + ")\n"),
    "python-too-deep": ("a.py", "x = " + "[" * 20_000),
    "python-sum": ("a.py", "from vllm import LLM\nLLM('m', max_model_len=" + "1+" * 3000 + "1)\n"),
    "python-power": ("a.py", "from vllm import LLM\nLLM('m', max_model_len=9**9**9**9, seed=1<<99999999999)\n"),
    "python-cycle": (
        "a.py",
        "import subprocess\na = b\nb = a\nc = c + ['x']\nsubprocess.run(a)\nsubprocess.run([*b, *c])\n",
    ),
    "python-lists": (
        "a.py",
        "import subprocess\na0 = ['x', 'y']\n"
        + "".join(f"a{i} = [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
        + "subprocess.run(a39)\n",
    ),
    "python-null": ("a.py", "from vllm import LLM\n\x00LLM('m')\n"),
    "ignores": ("a.sh", "# pd-launch: ignore[PD001]\n" * 20_000 + _SERVE),
    "blank-file": ("a.sh", " " * 500_000),
    "newlines": ("a.yaml", "\n" * 500_000),
}
