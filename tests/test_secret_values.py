"""A secret is masked however its language writes the value: by words, texts, lists, defaults and other variables."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import pytest
import yaml

from pd_launch.launcher.secrets.masking import mask_lines
from pd_launch.launcher.secrets.written import written_spans
from tests.command import run

SECRET = "hunter2S3cretZq"
BAD = "; vllm serve m --kv-transfer-config '{,}'\n"
"""A mistake, so that the line is shown."""

WRITTEN = {
    'PASSWORD="ab\\"SECRET" x': 'PASSWORD="***" x',
    "PASSWORD=ab\\ SECRET x": "PASSWORD=*** x",
    'PASSWORD=ab\\"SECRET x': "PASSWORD=*** x",
    "PASSWORD=\\$SECRET x": "PASSWORD=*** x",
    "PASSWORD=ab\\\nSECRET x": "PASSWORD=*** x",
    "PASSWORD='ab\\' x 'y'": "PASSWORD='***' x 'y'",
    "f(api_key='a\\'SECRET')": "f(api_key='***')",
    "PASSWORD=ab,SECRET x": "PASSWORD=*** x",
    "PASSWORD=ab}SECRET x": "PASSWORD=*** x",
    "PASSWORD='ab'\"SECRET\" x": "PASSWORD='***'\"***\" x",
    "PASSWORD=ab'SECRET' x": "PASSWORD=***'***' x",
    "PASSWORD=$'a\\'SECRET' x": "PASSWORD=$'***' x",
    "PASSWORD='$SECRET' x": "PASSWORD='***' x",
    "HF_TOKEN=${1:-SECRET} x": "HF_TOKEN=${1:-***} x",
    'HF_TOKEN="${1:-SECRET}" x': 'HF_TOKEN="${1:-***}" x',
    "HF_TOKEN=${A:-${B:-SECRET}} x": "HF_TOKEN=${A:-${B:-***}} x",
    ": ${HF_TOKEN:=SECRET} x": ": ${HF_TOKEN:=***} x",
    ': "${HF_TOKEN-SECRET}" x': ': "${HF_TOKEN-***}" x',
    "HF_TOKEN+=SECRET x": "HF_TOKEN+=*** x",
    "API_KEYS=(a SECRET 'b c') x": "API_KEYS=(*** *** '***') x",
    "API_KEYS=(\n a\n SECRET\n)\nx": "API_KEYS=(\n ***\n ***\n)\nx",
    "api_key=['a', 'SECRET'] x": "api_key=['***', '***'] x",
    '"api_keys": ["a", "SECRET"], "n": 1': '"api_keys": ["***", "***"], "n": 1',
    "api-key:\n  - a\n  - SECRET\nn: 1": "api-key:\n  - ***\n  - ***\nn: 1",
    "read -r HF_TOKEN <<< SECRET; x": "read -r HF_TOKEN <<< ***; x",
    "read A HF_TOKEN <<<'x SECRET'": "read A HF_TOKEN <<<'***'",
    "printf -v HF_TOKEN %s SECRET; x": "printf -v HF_TOKEN *** ***; x",
    "ENV HF_TOKEN SECRET": "ENV HF_TOKEN ***",
    "A=SECRET; HF_TOKEN=$A": "A=***; HF_TOKEN=$A",
    "A='SECRET'; B=\"$A\"\nHF_TOKEN=${B}": "A='***'; B=\"$A\"\nHF_TOKEN=${B}",
    "A=SECRET; curl http://u:$A@h": "A=***; curl http://u:$A@h",
    "A=SECRET; other --api-key $A": "A=***; other --api-key $A",
    "PRIVATE_KEY='-----BEGIN\nSECRET' x": "PRIVATE_KEY='***' x",
    'API_KEY = """SECRET""" # x': 'API_KEY = """***""" # x',
    "HF_TOKEN: 'SECRET\nDB_PASS: 'SECRET'\nn: 1": "HF_TOKEN: '***'***'\nn: 1",
    "token=SECRET x": "token=*** x",
    "key=SECRET; pass='SECRET'": "key=***; pass='***'",
    "curl 'http://h/?a=b&token=SECRET&n=1'": "curl 'http://h/?a=b&token=***&n=1'",
    '{"token": "SECRET", "key": "SECRET", "n": 1}': '{"token": "***", "key": "***", "n": 1}',
    'curl -H "token: SECRET" x': 'curl -H "token: ***" x',
    "https://glpat-SECRET@h/x": "https://***@h/x",
    "https://u:a@SECRET@h/x": "https://u:***@h/x",
    "https://u@mail.org:SECRET@h/x": "https://u@mail.org:***@h/x",
    "other --api-keys a SECRET && x": "other --api-keys *** *** && x",
    "['--api-keys', 'a', 'SECRET', '--n', '1']": "['--api-keys', '***', '***', '--n', '1']",
    "- --api-keys\n- a\n- SECRET\n- --n": "- --api-keys\n- ***\n- ***\n- --n",
    '{"a": "{\\"b\\": \\"{\\\\\\"api_key\\\\\\": \\\\\\"SECRET\\\\\\"}\\"}"}': (
        '{"a": "{\\"b\\": \\"{\\\\\\"api_key\\\\\\": \\\\\\"***\\\\\\"}\\"}"}'
    ),
    "bash -c 'HF_TOKEN=SECRET vllm' --n 'x'": "bash -c 'HF_TOKEN=*** vllm' --n 'x'",
    'sh -c "curl -H \\"token=SECRET\\" x" --n "y"': 'sh -c "curl -H \\"token=***\\" x" --n "y"',
    '"HF_TOKEN=SECRET\\nvllm serve m"': '"HF_TOKEN=***\\nvllm serve m"',
    "Error: HF_TOKEN=SECRET: No such file": "Error: HF_TOKEN=***: No such file",
    "HF_TOKEN=$(curl -H 'password: SECRET' x) y": "HF_TOKEN=$(curl -H 'password: ***' x) y",
}


@pytest.mark.parametrize(("text", "shown"), WRITTEN.items())
def test_only_the_secret_is_masked(text: str, shown: str) -> None:
    assert mask_lines(text.replace("SECRET", SECRET)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "HF_TOKEN=$(cat /run/secrets/token) vllm serve m",
        'HF_TOKEN="$(vault read -field=token secret/hf)" vllm serve m',
        "HF_TOKEN=`cat x` vllm serve m",
        "PRIVATE_KEY=$DIR/key.pem; DIR=/mnt/models12",
        "password=${{ secrets.PW }} x",
        "HF_TOKEN=$$HF_TOKEN DB_PASS=${DB_PASS?not set} x",
        'curl -H "Authorization: Bearer $A" http://u:${A}@h',
        "write KEY=VALUE, for example a.b=4",
        "sorted(x, key=len); max(y, key=lambda one: one.n); min(key=f)",
        'if key == "abc": pass\nfor token in tokens: x',
        "tolerations:\n- key: nvidia.com/gpu\n  operator: Exists",
        '{"token": 151655, "key": "model.layers.0"}',
        "git clone https://first.lastname.of.somebody@h/x; ssh://git@h/x",
        "see http://h:8000/a and mail a@b",
    ],
)
def test_what_only_refers_to_a_secret_is_shown(text: str) -> None:
    assert mask_lines(text) == text


@pytest.mark.parametrize("text", [text for text in WRITTEN if text.startswith(("PASS", "HF_", "API_K", "A=", "PRIV"))])
def test_no_report_and_no_patch_shows_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text(text.replace("SECRET", SECRET) + BAD)
    for words in ((), ("--diff", "--unsafe-fixes")):
        assert SECRET not in run(tmp_path, "check", "s.sh", *words)


# -------------------------------------------------------------------------------------------------------------- forms

VALUES = {
    "header": f"x-api-key={SECRET}",
    "JSON": json.dumps({"password": SECRET, "n": 1}),
    "JSON in JSON": json.dumps({"a": json.dumps({"access_key": SECRET})}),
    "query": f"http://h/?token={SECRET}",
    "two logins": f"http://u:a@{SECRET}@h",
}


@pytest.mark.parametrize("form", ["json", "shell", "docker", "compose", "k8s", "systemd"])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_form_asks_for_a_value_in_which_a_name_tells_a_secret(value: str, form: str, tmp_path: Path) -> None:
    profile = {"version": 1, "name": "p", "hardware": "cuda", "target": "vllm==0.32.0", "model": "m", "decode": {}}
    engine = {"additional-config": {"x": value}, "otlp-traces-endpoint": value}
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(profile | {"env": {"SOME": value}, "engine": engine}))
    words = ("decode", "--profile", "p.yaml", "--dry-run", "--format", form)
    assert SECRET not in run(tmp_path, *words, "--show-origin")
    text = run(tmp_path, *words)
    assert SECRET not in text
    asks = {
        "json": "***",
        "shell": 'export SOME="${SOME:?}"',
        "docker": "-e SOME \\\n",
        "compose": "env_file:",
        "k8s": "secretKeyRef",
        "systemd": "EnvironmentFile=",
    }
    assert asks[form] in text
    assert form == "json" or "***" not in text


# ----------------------------------------------------------------------------------------------------------- commands


def test_a_profile_of_init_has_no_secret_of_a_text_of_json(tmp_path: Path) -> None:
    value = json.dumps({"a": json.dumps({"access_key": SECRET}), "b": 1})
    (tmp_path / "s.sh").write_text(f"vllm serve m --additional-config '{value}'\n")
    said = run(tmp_path, "init", "--from", "s.sh", "-o", "p.yaml")
    assert SECRET not in said + (tmp_path / "p.yaml").read_text()
    assert yaml.safe_load((tmp_path / "p.yaml").read_text())["decode"]["engine"]["additional-config"] == {"b": 1}


def test_facts_that_another_program_wrote_are_masked(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text(
        json.dumps({"HF_TOKEN": SECRET, "environment": {"PROXY": f"http://u:{SECRET}@h", "A_KEY": [SECRET]}})
    )
    for more in ((), ("--format", "json")):
        text = run(tmp_path, "facts", "diff", "a.json", "b.json", *more)
        assert SECRET not in text and "***" in text and "http://u:***@h" in text
    (tmp_path / "a.json").write_text(json.dumps({"environment": {"VLLM_HOST_IP": f"http://u:{SECRET}@h"}}))
    assert SECRET not in run(tmp_path, "facts", "check", "a.json", "a.json", "b.json")


@pytest.mark.parametrize(
    "words",
    [
        ("check", f"HF_TOKEN={SECRET}", "vllm", "serve", "m"),
        ("check", f"HF_TOKEN={SECRET}", "vllm", f"--api-key={SECRET}"),
        ("check", "vllm", "--api-key", SECRET),
        ("logs", f"HF_TOKEN={SECRET}"),
        ("decode", "--profile", "cpu-tiny", f"HF_TOKEN={SECRET}"),
        ("decode", "--profile", "cpu-tiny", f"HF_TOKEN=two {SECRET}"),
        ("decode", "--profile", "cpu-tiny", "--format", SECRET, "--set", f"env.HF_TOKEN={SECRET}"),
        ("decode", "--profile", f"http://u:{SECRET}@h", "--dry-run"),
        (f"HF_TOKEN={SECRET}",),
        (f"--api-key={SECRET}",),
        ("explain", f"HF_TOKEN={SECRET}"),
        ("init", "--from", f"HF_TOKEN={SECRET}"),
        ("facts", "diff", f"HF_TOKEN={SECRET}", "x"),
        ("size", f"HF_TOKEN={SECRET}"),
    ],
)
def test_what_is_said_of_a_wrong_command_line_has_no_secret(words: tuple[str, ...], tmp_path: Path) -> None:
    text = run(tmp_path, *words)
    assert SECRET not in text and "Error" in text


def test_an_ordinary_word_stays_in_what_is_said_of_a_wrong_command_line(tmp_path: Path) -> None:
    text = run(tmp_path, "decode", "--profile", "cpu-tiny", "HF_TOKEN=vllm")
    assert "unexpected argument HF_TOKEN=***: put arguments for vLLM after --" in text


PUMPS = (
    "--api-key a1b2 ", "--api-keys a ", "key=$", "key=${", 'key="$(', "key='\\'", 'key=\\"', "key=[a,", "A=$A ",
    "key=(a ", "HF_TOKEN=$A;A=", 'a_key="\n', "read token<<<", "://a@b:c@", "key=$a", "key='x\n", "key=\\", "key=a'",
    "api-key:\n - a\n", "${a_key-", "${a_key-$b", "key={", 'a_key: "x\\"', "://a1:@", ",key=a", "(key=a",
    "HF_TOKEN=$A;A=$B;B=$C;C=",
)  # fmt: skip


@pytest.mark.parametrize("pump", PUMPS)
def test_reading_values_costs_no_more_than_the_text_is_long(pump: str) -> None:
    times = []
    for size in (100_000, 400_000):
        start = time.process_time()
        written_spans(pump * (size // len(pump)))
        times.append(time.process_time() - start)
    assert times[1] < 8 * times[0] + 0.5, times


def hide(text: str) -> str:
    """Return a text as a report shows it."""
    for start, end in reversed(written_spans(text)):
        text = f"{text[:start]}***{text[end:]}"
    return text


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_secret_in_base64_is_masked_as_a_whole() -> None:
    script = _encoded("export HF_TOKEN=Zq9hunter2\nvllm serve m\n")
    assert hide(f"x: {script}") == "x: ***"
    assert hide(f"echo {script} | base64 -d | sh") == "echo *** | base64 -d | sh"
    plain = _encoded("export A=1\nvllm serve m\n")
    assert hide(f"x: {plain}") == f"x: {plain}"


def test_what_a_secret_of_a_cluster_holds_in_base64_is_masked() -> None:
    value = _encoded("anything at all")
    text = f"kind: Secret\nmetadata: {{name: frontend}}\ndata:\n  db: {value}\n"
    assert hide(text) == text.replace(value, "***")
    assert hide(text.replace("Secret", "ConfigMap")) == text.replace("Secret", "ConfigMap")
