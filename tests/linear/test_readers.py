"""No reader and no rule takes more than linear time: inputs that grow in one respect are checked at two sizes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from growth import MOST, ratio

from pd_launch.launcher.check.run import check
from pd_launch.launcher.logs.collect import Collector
from pd_launch.launcher.secrets.masking import all_secrets, hide
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.finding import Finding
from tests.sampling import sample

SERVE = "vllm serve m --port 8000"
KV = SERVE + " --kv-transfer-config "
LMCACHE = "LMCACHE_CONFIG_FILE=l " + KV + """'{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'"""
PROFILE = "version: 1\nhardware: cpu\nmodel: m\n"
Text = Callable[[int], str]


def _pod(arms: str) -> str:
    """Return a pod whose script chooses between engines."""
    script = json.dumps(f"case $1 in {arms} esac")
    container = f'{{"command": [sh, -c], "args": [{script}]}}'
    return f'{{"apiVersion": "v1", "kind": "Pod", "spec": {{"containers": [{container}]}}}}'


SHELL: dict[str, Text] = {
    "blank-lines": lambda n: "\n" * n + SERVE,
    "comments": lambda n: "# vllm serve {{ x\n" * n + SERVE,
    "plain-commands": lambda n: "echo hi\n" * n + SERVE,
    "assignments": lambda n: "A=1\n" * n + SERVE,
    "variables": lambda n: "".join(f"A{i}=1\n" for i in range(n)) + SERVE,
    "exports": lambda n: "".join(f"export A{i}=1\n" for i in range(n)) + SERVE,
    "exports-and-plain-commands": lambda n: "".join(f"export A{i}=1\necho hi\n" for i in range(n)) + SERVE,
    "exports-and-engines": lambda n: "".join(f"export A{i}=1\n{SERVE}\n" for i in range(n)),
    "inline": lambda n: "".join(f"A{i}=1 " for i in range(n)) + SERVE,
    "engines": lambda n: (SERVE + "\n") * n,
    "conditions": lambda n: "".join(f"if x; then A{i}=1; fi\n" for i in range(n)) + SERVE,
    "conditions-of-one-variable": lambda n: "if x; then A=$A1; fi\n" * n + SERVE + " $A",
    "sides": lambda n: "if x; then R=kv_producer; else R=kv_consumer; fi\n" * n + SERVE,
    "cases": lambda n: "case $1 in " + "".join(f"a{i}) R=kv_role{i};; " for i in range(n)) + "esac\n" + SERVE,
    "subshells": lambda n: "".join(f"A{i}=1; (B=1)\n" for i in range(n)) + SERVE,
    "functions": lambda n: "".join(f"f{i}() {{ echo; }}\nf{i}\n" for i in range(n)) + SERVE,
    "functions-that-call": lambda n: "".join(f"f{i + 1}() {{ f{i}; A=1; }}\nf{i}\n" for i in range(n)) + SERVE,
    "locals": lambda n: "f() { local A=1; B=$A; }\n" + "f\n" * n + SERVE,
    "loops": lambda n: "for i in 1 2 3; do A=$i; done\n" * n + SERVE,
    "substitutions": lambda n: "f() { echo $1; }\n" + "A=$(f x)\n" * n + SERVE,
    "long-values": lambda n: f"A={'x' * n}\n" + "B=y$A\n" * 50 + SERVE,
    "array": lambda n: "A=(" + "x " * n + ")\n" + SERVE + ' "${A[@]}"',
    "appended": lambda n: "A+=x\n" * n + SERVE + " $A",
    "quotes": lambda n: "'\"" * n,
    "escaped-quotes": lambda n: SERVE + ' "' + '\\"' * n,
    "heredocs": lambda n: "cat <<E\nx\nE\n" * n + SERVE,
    "scripts-inside": lambda n: "bash -c 'vllm serve m'\n" * n,
    "remote": lambda n: "ssh h 'vllm serve m'\n" * n,
    "pipes-into-shells": lambda n: "echo 'vllm serve m' | bash\n" * n,
    "one-long-pipe": lambda n: "echo vllm serve m" + " | bash" * n,
    "here-strings": lambda n: "bash <<< 'vllm serve m'\n" * n,
    "substituted-engines": lambda n: "x=$(vllm serve m &)\n" * n,
    "substitutions-inside": lambda n: "x=" + "$(" * n + SERVE + ")" * n,
    "braces": lambda n: SERVE + " " + "{a," * n + "}" * n,
    "braces-side-by-side": lambda n: SERVE + " {a,b}" * n + "\necho " + "{a,b}" * n,
    "brackets": lambda n: "(" * n + SERVE + ")" * n,
    "processes": lambda n: "cat " + "<(vllm serve m) " * n,
    "traps": lambda n: "trap 'vllm serve m' EXIT\n" * n,
    "aliases": lambda n: "".join(f"alias a{i}='vllm serve'\na{i} m\n" for i in range(n)),
    "functions-never-called": lambda n: "".join(f"f{i}() {{ vllm serve m; }}\n" for i in range(n)),
    "values-that-are-held": lambda n: "".join(f"A{i}[x]='vllm serve m --a 1'\n" for i in range(n)) + "eval $X\n",
    "lmcache-files": lambda n: "".join(
        f"cat > l{i} <<E\nchunk_sizes: 1\nE\n{LMCACHE.replace('=l', f'=l{i}', 1)} &\n" for i in range(n)
    ),
    "lmcache-keys": lambda n: "cat > l <<E\n" + "".join(f"a{i}: 1\n" for i in range(n)) + f"E\n{LMCACHE}\n" * 9,
    "false-ends": lambda n: "cat <<E\n" + "Ex\n" * n + "E\n" + SERVE,
    "here-documents-without-end": lambda n: "cat <<E\nEx\n" * min(n, 2900) + "#\n" * n + SERVE,
    "gaps": lambda n: "xargs " + SERVE + " {}" * n,
    "listed-at-one-address": lambda n: (
        f"{SERVE} --port 8000 &\n{SERVE} --port 8001 &\npython toy_proxy_server.py --prefiller-hosts {'a ' * n}"
        f"--prefiller-ports {'8000 ' * n}--decoder-hosts {'a ' * n}--decoder-ports {'8001 ' * n}\n"
    ),
    "typographic": lambda n: "“x” " * n + "\n" + SERVE,
    "torn-off": lambda n: SERVE + "\n" + "  --seed 1\n" * n,
    "let": lambda n: "let " + "a" * n + "\n" + SERVE,
    "placeholders": lambda n: SERVE + " --host '<a " * n,
    "ignores": lambda n: "# pd-launch: ignore[PD001]\n" * n + SERVE,
    "quoted-ignores": lambda n: "echo '# pd-launch: ignore[PD001]'\n" * n + SERVE,
    "targets-that-are-shown": lambda n: "cat <<E\n# pd-launch: target vllm==0.32.0\nE\n" * n + SERVE,
    "unknown-flags": lambda n: SERVE + "".join(f" --flag-{i} 1" for i in range(n)),
    "words-like-flags": lambda n: "echo" + "".join(f" --aaaa{i} {i}" for i in range(n)) + "\n" + SERVE,
    "same-flags": lambda n: SERVE + " --seed 8" * n,
    "words": lambda n: "run " + "x " * n + "\n" + SERVE,
    "python-words": lambda n: "run " + "python " * n + "\n" + SERVE,
    "defaults": lambda n: "A=" + "${a:-" * n + "\n" + SERVE,
    "json-keys": lambda n: KV + "'{" + ",".join(f'"k{i}":1' for i in range(n)) + "}'",
    "json-same-key": lambda n: KV + "'{" + '"kv_role":"kv_both",' * n + '"a":1}\'',
    "json-list": lambda n: KV + '\'{"a":[' + "1," * n + "1]}'",
    "json-string": lambda n: KV + '\'{"a":"' + '\\"' * n + "'",
    "proxy": lambda n: "python3 " + "proxy" * n + "\n" + SERVE,
    "docker": lambda n: "docker run --name a img sleep 1\n" * n + SERVE,
}
YAML: dict[str, Text] = {
    "blank-lines": lambda n: "services:\n" + "\n" * n + f"  a: {{command: {SERVE}}}\n",
    "templates": lambda n: "# {{ x\n" * n + f"services: {{a: {{command: {SERVE}}}}}\n",
    "branches": lambda n: (
        f"services: {{a: {{command: {SERVE}}}}}\n" + "{{ if a }}\n# x\n{{ else }}\n# y\n{{ end }}\n" * n
    ),
    "branches-inside": lambda n: f"services: {{a: {{command: {SERVE}}}}}\n" + "{{ if a }}\n{{ else }}\n" * n,
    "open-templates": lambda n: f"services: {{a: {{command: {SERVE}}}}}\n# " + "{{" * n,
    "braces": lambda n: f"services: {{a: {{command: {SERVE}}}}}\n# " + "{" * n + "}}\n",
    "json-templates": lambda n: f"services: {{a: {{command: {SERVE}}}}}\n# " + "{{'a':" * n + "}}\n",
    "folded-blanks": lambda n: f'services: {{a: {{command: "{SERVE}' + " " * n + 'x\n  y"}}\n',
    "services": lambda n: "services:\n" + "".join(f"  s{i}: {{command: {SERVE}}}\n" for i in range(n)),
    "variables": lambda n: (
        f"services:\n  a:\n    command: {SERVE}\n    environment:\n" + "".join(f"      A{i}: x\n" for i in range(n))
    ),
    "same-key": lambda n: PROFILE + "decode:\n  kv_transfer_config:\n" + "    kv_role: kv_both\n" * n,
    "branches-of-a-pod": lambda n: _pod("".join(f"x{i}) {SERVE};; " for i in range(n))),
    "engines-in-a-branch-of-a-pod": lambda n: _pod(f"x) {f'{SERVE} & ' * n};; "),
    "documents": lambda n: f"apiVersion: v1\nkind: Pod\nspec: {{containers: [{{command: [{SERVE}]}}]}}\n---\n" * n,
    "documents-of-no-form": lambda n: "a: 1\n---\n" * n + f"x: {SERVE} --sizee\n",
    "documents-beside-a-profile": lambda n: PROFILE + "decode: {}\n" + "---\na: 1\n" * n,
    "empty-documents": lambda n: "---\n" * n + f"x: {SERVE}\n",
    "block-scalar": lambda n: "services:\n  a:\n    command: >-\n      vllm serve m\n" + "      --seed 1\n" * n,
    "unknown-keys": lambda n: PROFILE + "decode: {}\n" + "".join(f"k{i}: 1\n" for i in range(n)),
    "nodes": lambda n: PROFILE + "decode: {}\nnodes: {decode: [" + "{address: 192.0.2.1}, " * n + "]}\n",
    "interpolated": lambda n: "services: {a: {command: '" + "${a:-" * n + "'}}\n",
}
PYTHON: dict[str, Text] = {
    "assignments": lambda n: "x = [1, 2]\n" * n + "import os\nos.system('vllm serve m')\n",
    "list": lambda n: "x = [" + "1, " * n + "]\nimport os\nos.system('vllm serve m')\n",
    "commands": lambda n: "import os\n" + "os.system('vllm serve m')\n" * n,
    "engines": lambda n: "from vllm import LLM\n" + "LLM('m')\n" * n,
    "calls": lambda n: "import os\ndef f(n):\n    os.system('vllm serve m')\n" + "f(1)\n" * n,
    "same-key": lambda n: "from vllm import LLM\nLLM('m', additional_config={" + "'a': 1, " * n + "})\n",
    "concatenated": lambda n: "import os\nos.system('vllm serve m '\n" + "  '--seed 1 '\n" * n + ")\n",
}
PROSE: dict[str, Text] = {
    "blocks": lambda n: f"```bash\n{SERVE}\n```\n" * min(n, 300) + "It is so.\n" * n,
    "open-blocks": lambda n: SERVE + "\n" + "```a\n" * n,
    "blocks-of-many-marks": lambda n: SERVE + "\n" + "````\n```\n" * n,
    "sentences": lambda n: f"See what vllm serve can do.\n{SERVE}\n" + "Then it is so.\n" * n,
    "lines-that-go-on": lambda n: SERVE + " \\\n  --seed 1" * n,
    "fences-in-a-line": lambda n: SERVE + "\n" + "```" * n,
    "runs": lambda n: SERVE + "\n" + "docker " * n + "run vllm",
}
UNITS: dict[str, Text] = {
    "lines-that-go-on": lambda n: f"[Service]\nExecStart=/usr/bin/{SERVE}" + " \\\n# c\n --seed 1" * n,
    "variables": lambda n: "[Service]\n" + "Environment=A=1\n" * n + f"ExecStart=/usr/bin/{SERVE} " + "$A ${A} " * n,
    "specifiers": lambda n: f"[Service]\nExecStart=/usr/bin/{SERVE} " + "%i%%" * n,
    "commands": lambda n: "[Service]\nExecStart=" + "/bin/true ; " * n + f"/usr/bin/{SERVE}",
    "quotes": lambda n: f"[Service]\nExecStart=/usr/bin/{SERVE} --host " + "'a'\"b\"" * n,
}
LOGS: dict[str, Text] = {
    "long-word": lambda n: "INFO 01-01 00:00:00 [x] RecomputeCPUOffloadConnector: role=" + "a" * n,
    "digits": lambda n: "INFO 01-01 00:00:00 [x]  KV cache size: " + "1" * n,
    "versions": lambda n: "INFO 01-01 00:00:00 [x] Initializing a V1 LLM engine (v" + "(v1" * n,
    "lines": lambda n: "INFO 01-01 00:00:00 [x] Created recompute offload state for request r\n" * n,
}
STARTS = {"exports-and-engines": 400, "cases": 400, "functions-never-called": 400}
"""What each engine has with each variable, or with each other engine, stops to grow where no more are checked."""
CASES = [
    *(("a.sh", name, text) for name, text in SHELL.items()),
    *(("a.yaml", name, text) for name, text in YAML.items()),
    *(("a.py", name, text) for name, text in PYTHON.items()),
    *(("a.md", name, text) for name, text in PROSE.items()),
    *(("a.service", name, text) for name, text in UNITS.items()),
]
TAKEN = sample(CASES, 0.5, "linear")


@pytest.mark.parametrize(("file", "name", "text"), TAKEN, ids=[f"{file}-{name}" for file, name, _ in TAKEN])
def test_a_check_is_linear(file: str, name: str, text: Text) -> None:
    growth, size = ratio(lambda n: check(read_texts({file: text(n)})), STARTS.get(name, 50), 0.04, 60_000)
    assert growth <= MOST, f"{growth:.1f} times as long for 4 times as much, at {size}"


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_read_in_linear_time(name: str) -> None:
    def work(size: int) -> None:
        collector = Collector()
        list(collector.feed(LOGS[name](size).encode() + b"\n"))
        list(collector.close())

    growth, size = ratio(work, 500, 0.01, 60_000)
    assert growth <= MOST, f"{growth:.1f} times as long for 4 times as much, at {size}"


@pytest.mark.parametrize("form", ["hfx_Secret{:06d}zQ", "p{:d}", "{:08d}aQhfx_S1", "x1{:0>40d}y"])
def test_many_secrets_and_many_findings_are_linear(form: str) -> None:
    def work(size: int) -> None:
        values = [form.format(number) for number in range(size)]
        deployments = read_texts({"a.sh": "".join(f"export A{n}_TOKEN={v}\n" for n, v in enumerate(values)) + SERVE})
        secrets = all_secrets(deployments)
        findings = [_finding(number + 1, f"one of '{value}' and {value[:9]}…") for number, value in enumerate(values)]
        assert not any(
            f"'{value}'" in found.message for value, found in zip(values, hide(findings, secrets), strict=True)
        )

    growth, size = ratio(work, 50, 0.04, 8_000)
    assert growth <= MOST, f"{growth:.1f} times as long for 4 times as many, at {size}"


def _finding(line: int, message: str) -> Finding:
    return Finding(
        code="PD004", name="x", severity="error", confidence="high", message=message, why="", help="",
        file="a.sh", line=line, column=1, end_line=line, end_column=2, related=[], fix=None,
    )  # fmt: skip


def test_many_files_are_linear() -> None:
    def work(size: int) -> None:
        check(read_texts({f"a{i}.sh": SERVE + "\n" for i in range(size)}, separate=True))

    growth, size = ratio(work, 10, 0.04, 600)
    assert growth <= MOST, f"{growth:.1f} times as long for 4 times as many, at {size}"
