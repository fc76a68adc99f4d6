"""Inputs from a grammar: scripts with functions, loops, arrays and here-documents, and what may stand around them.

Where mutations break what people wrote, these are mostly right, and nest what people seldom nest. The same generator
state gives the same text.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

NAMES = ("A", "PORT", "MODEL", "TP", "ARGS", "HCCL_IF_IP", "VLLM_USE_V1", "HF_TOKEN", "i", "HOST")
FLAGS = (
    "--port", "--tensor-parallel-size", "--data-parallel-size", "--max-model-len", "--max-num-seqs", "--host",
    "--kv-transfer-config", "--additional-config", "--gpu-memory-utilization", "--block-size", "--seed", "-tp", "-dp",
    "--data-parallel-rank", "--data-parallel-address", "--enforce-eager", "--no-enable-prefix-caching", "--port=8000",
    "--kv-transfer-config.kv_role", "--speculative-config", "--compilation-config", "--headless", "--nope",
    "--quantization",
)  # fmt: skip
KEYS = (
    "kv_connector", "kv_role", "kv_port", "kv_connector_extra_config", "connectors", "cpu_bytes_to_use_per_rank",
    "prefill",
    "decode", "dp_size", "tp_size", "use_ascend_direct", "kv_load_failure_policy", "kv_connector_module_path", "a",
)  # fmt: skip
WORDS = (
    "8000", "8", "-1", "m", "/models/m", "0.9", "kv_producer", "kv_consumer", "kv_both", "MooncakeConnectorV1", "16GiB",
    "1k",
    "MultiConnector", "RecomputeCPUOffloadConnector", "NixlConnector", "127.0.0.1", "192.0.2.1", "true", "null",
    "<model>",
    "your_ip_here", "全角", "$(hostname)", "`id`", "*", "x=y", "\u00e9", "'", "9" * 30,
)  # fmt: skip
STARTED = (
    "bash <<< '@'", "echo '@' | bash", "cat <<E | bash\n@\nE\n", "echo '@' | sed s,a,b, | sh", "trap '@' EXIT",
    "alias s='@'\ns", "x=$(@)", "cat <(@)", "bash <(echo '@')", "pdsh -w n '@'", "sbatch --wrap='@'", "env -S '@'",
    "ls | xargs -I{} @ {}", "find . -exec @ \\;", "parallel '@' ::: 1 2", "su -c '@' x", "sudo -u x bash -c '@'",
    "tmux new -d '@'", "coproc @", "eval \"$(cat <<E\n@\nE\n)\"", "never() {\n@\n}",
    "while read -r l; do eval \"$l\"; done <<E\n@\nE\n",
    "C[a]='@'\n${C[a]}", "set -- @\n\"$@\"", "echo '@' > run.sh",
    "tee x.service <<'E'\n[Service]\nExecStart=@\nE\n",
    "python3 <<'E'\nimport os\nos.system(\"@\")\nE\n", "perl -e 'system(\"@\")'", "read -r c <<< '@'\n$c",
)  # fmt: skip
"""Ways to start an engine; ``@`` is its command."""
DEPTH = 4


class Grammar:
    """Makes texts; each part may hold others, to a depth."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.functions: list[str] = []
        self.heredocs = 0

    def one(self, *texts: str) -> str:
        return self.random.choice(texts)

    def many(self, most: int) -> range:
        return range(self.random.randrange(most + 1))

    def value(self) -> Any:
        pick = self.random.randrange(8)
        if pick == 0:
            return {self.one(*KEYS): self.value() for _ in self.many(3)}
        if pick == 1:
            return [self.value() for _ in self.many(3)]
        return self.random.choice((*WORDS, 1, 0, 8000, 1.5, True, None, 2**40))

    def object(self) -> str:
        text = json.dumps({self.one(*KEYS): self.value() for _ in range(1, 5)}, ensure_ascii=self.random.random() < 0.5)
        if self.random.random() < 0.3:
            text = text.replace(", ", self.one(",", ",,", ",\n ", " , ", " "), 1)
        return text

    def expansion(self, depth: int) -> str:
        name = self.one(*NAMES)
        forms = [
            f"${name}",
            f"${{{name}}}",
            f"${{{name}:-{self.one(*WORDS)}}}",
            "$1",
            "$@",
            f"${{{name}[@]}}",
            f"${{#{name}}}",
        ]
        forms += [f"${{{name}%/*}}", f"$(({name} + {self.one('1', '8', name)}))", "$((2 * 4))", f"${{{name}[1]}}"]
        if depth > 0:
            forms += [f"$({self.command(depth - 1)})", f"${{{name}:-{self.expansion(depth - 1)}}}", "$(seq 1 4)"]
        return self.random.choice(forms)

    def word(self, depth: int) -> str:
        pick = self.random.randrange(10)
        if pick < 4:
            return self.one(*WORDS[:8])
        if pick < 6:
            return self.expansion(depth)
        if pick == 6:
            return f'"{self.one(*WORDS)}{self.expansion(depth)}"'
        if pick == 7:
            return f"'{self.object()}'"
        if pick == 8:
            return self.one("{1..4}", "{a,b}", "x{1,2}y", "$'a\\tb'", '""', "\\ ", "[0-9]*")
        return self.one(*WORDS).replace("'", "")

    def engine(self, depth: int) -> str:
        program = self.one(
            "vllm serve", "python -m vllm.entrypoints.openai.api_server --model", "nohup vllm serve", "exec vllm serve",
            "env A=1 vllm serve", "numactl -N 0 vllm serve", "HCCL_IF_IP=192.0.2.1 vllm serve",
        )  # fmt: skip
        between = self.one(" ", " ", " \\\n  ")
        words = [program, self.word(depth)]
        for _ in self.many(7):
            flag = self.one(*FLAGS)
            words.append(f"{flag}{between}{self.word(depth)}" if self.random.random() < 0.8 else flag)
        return between.join(words) + self.one("", "", " &", " > log 2>&1 &")

    def started(self, depth: int) -> str:
        """Return an engine that is started by something else than a plain command."""
        engine = self.engine(depth).replace("'", "")
        way = self.one(*STARTED)
        return way.replace("@", engine if self.random.random() < 0.7 else self.statements(depth).replace("'", ""))

    def command(self, depth: int) -> str:
        pick = self.random.randrange(13)
        if pick == 12 and depth > 0:
            return self.started(depth - 1)
        if pick < 4:
            return self.engine(depth)
        if pick == 4 and self.functions:
            return " ".join([self.one(*self.functions), *(self.word(depth) for _ in self.many(3))])
        if pick == 5:
            option = self.one("--rm", "-d --name a", "--net=host", "--shm-size=1g", "-e A=1")
            return f"docker run {option} img:v0.25.1 {self.engine(depth)}"
        if pick == 6 and depth > 0:
            return f"bash -c '{self.statements(depth - 1)}'"
        if pick == 7 and depth > 0:
            return f"ssh host {self.one('', 'bash -s ')}{self.heredoc(depth - 1)}"
        return self.one(
            "echo hi", "sleep 1", "wait", "shift", "set -a", "set -euo pipefail", "read -r A", "kill $!", "true"
        )

    def heredoc(self, depth: int) -> str:
        self.heredocs += 1
        end = f"E{self.heredocs}"
        mark = self.one(end, f"'{end}'", f"-{end}")
        return f"<<{mark}\n{self.statements(depth)}\n{end}\n"

    def assignment(self, depth: int) -> str:
        name, how = self.one(*NAMES), self.one("", "", "export ", "local ", "declare -x ", "readonly ")
        if self.random.random() < 0.2:
            return f"{name}{self.one('=', '+=')}({' '.join(self.word(depth) for _ in self.many(4))})"
        return f"{how}{name}{self.one('=', '=', '+=')}{self.word(depth)}"

    def statement(self, depth: int) -> str:
        pick = self.random.randrange(14)
        if pick < 3 or depth <= 0:
            return self.assignment(depth)
        inner = depth - 1
        if pick < 7:
            return self.command(inner)
        if pick == 7:
            self.functions.append(self.one("f", "g", "start_all", "wait_ready", "run-it"))
            return f"{self.one('', 'function ')}{self.functions[-1]}() {{\n{self.statements(inner)}\n}}"
        if pick == 8:
            listed = self.one("1 2 3", "$(seq 0 7)", "{0..3}", '"${A[@]}"', "$ARGS", "$(seq 1 40)", "a")
            return f"for {self.one(*NAMES)} in {listed}; do\n{self.statements(inner)}\ndone"
        if pick == 9:
            last = self.one("4", "4", "4", "$TP", "9999")
            return f"for ((i=0; i<{last}; i++)); do\n{self.statements(inner)}\ndone"
        if pick == 10:
            test = self.one("[ $A = 1 ]", '[[ "$A" == kv_producer ]]', "curl -s x", "(( A > 1 ))")
            more = f"else\n{self.statements(inner)}\n" if self.random.random() < 0.6 else ""
            return f"if {test}; then\n{self.statements(inner)}\n{more}fi"
        if pick == 11:
            items = f" a) {self.statements(inner)} ;;\n *) {self.statements(inner)} ;;\n"
            return f"case {self.expansion(inner)} in\n{items}esac"
        if pick == 12:
            return f"while {self.one('true', 'read -r l', 'sleep 1')}; do\n{self.statements(inner)}\ndone"
        return self.one(
            f"({self.statements(inner)})", f"{{ {self.statements(inner)}; }} &", f"cat > run.sh {self.heredoc(inner)}"
        )

    def statements(self, depth: int) -> str:
        return "\n".join(self.statement(depth) for _ in range(1 + self.random.randrange(4 if depth > 2 else 2)))

    def script(self) -> str:
        head = self.one("", "#!/bin/bash\n", "# target: vllm==0.32.0\n", "# pd-launch: ignore[PD004]\n")
        return f"{head}{self.statements(DEPTH)}\n{self.engine(2)}\n"

    def compose(self) -> str:
        services = {}
        for number in range(1 + self.random.randrange(3)):
            service: dict[str, Any] = {
                "command": self.random.choice(
                    (self.engine(2), self.engine(1).split(), f"bash -c '{self.statements(2)}'")
                )
            }
            service["environment"] = self.random.choice(
                ({self.one(*NAMES): self.value()}, [f"{self.one(*NAMES)}={self.one(*WORDS)}"], None)
            )
            service[self.one("image", "ipc", "network_mode", "shm_size", "volumes", "deploy")] = self.value()
            services[self.one("prefill", "decode", f"s{number}")] = service
        return json.dumps({"services": services}, ensure_ascii=False)

    def manifest(self) -> str:
        container = {"name": "a", "image": "img:v0.25.1", "command": ["bash", "-c"], "args": [self.statements(3)]}
        container |= {"env": [{"name": self.one(*NAMES), "value": self.one(*WORDS)} for _ in self.many(3)]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
        text = json.dumps(pod, ensure_ascii=False)
        return text.replace("img", self.one("img", "{{ .Values.image }}", '{{ .Values.image | default "x" }}'))

    def profile(self) -> str:
        section = {"parallel": {"tensor": self.value(), "data": self.value()}, "engine": {"max-num-seqs": self.value()}}
        section |= {self.one("offload", "env", "port", "kv_transfer_config", "extra_args", "nope"): self.value()}
        made = {
            "version": 1,
            "hardware": self.one("a2", "a3", "cpu", "cuda", "x"),
            "model": self.one(*WORDS),
            "decode": section,
        }
        return json.dumps({**made, self.one("prefill", "transfer", "container", "nodes", "target"): self.value()})

    def python(self) -> str:
        call = self.one("os.system", "subprocess.Popen", "subprocess.run")
        command = json.dumps(self.engine(1)) if call == "os.system" else json.dumps(self.engine(0).split())
        loop = self.one(
            "for p in range(3):", "for p, q in [(1, 2), (3, 4)]:", "def f(p=1):", "if x:", "with open(x) as f:"
        )
        length, model = self.one("1", "2 ** 70", "x"), json.dumps(self.one(*WORDS))
        llm = f"LLM({model}, max_model_len={length}, kv_transfer_config={self.value()!r})"
        return f"import os, subprocess\nfrom vllm import LLM\n{loop}\n    {call}({command})\n    {llm}\nf(2)\n"


def generated(number: int) -> dict[str, str]:
    """Return the file that a number stands for."""
    grammar = Grammar(Random(f"grammar {number}"))
    form = grammar.random.choice(("script", "script", "script", "script", "compose", "manifest", "profile", "python"))
    name = {"script": "a.sh", "python": "a.py"}.get(form, "a.yaml")
    text: str = getattr(grammar, form)()
    return {name: text.encode("utf-8", "replace").decode("utf-8")}
