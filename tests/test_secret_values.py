"""A secret is masked however its language writes the value: by words, texts, lists, defaults and other variables."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from pd_launch.launcher.secrets.masking import mask_lines
from pd_launch.launcher.secrets.written import written_spans
from tests.command import run

SECRET = "hunter2S3cretZq"
NUMBER = "9057316824"
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
    "sshpass -p SECRET ssh u@h -p 22": "sshpass -p *** ssh u@h -p 22",
    "sshpass -pSECRET ssh u@h": "sshpass -p*** ssh u@h",
    "sshpass -p 'a SECRET' scp x u@h:": "sshpass -p '***' scp x u@h:",
    "curl -s -u user:SECRET http://x": "curl -s -u user:*** http://x",
    "curl --user 'user:SECRET' x; curl -uuser:SECRET x": "curl --user 'user:***' x; curl -uuser:*** x",
    "mysql -h db -u a -pSECRET x": "mysql -h db -u a -p*** x",
    "docker login -u a -p SECRET reg; docker run -p 80:80 x": "docker login -u a -p *** reg; docker run -p 80:80 x",
    "redis-cli -h r -a SECRET ping": "redis-cli -h r -a *** ping",
    "m?X-Amz-Signature=SECRET&X-Amz-Expires=60": "m?X-Amz-Signature=***&X-Amz-Expires=60",
    "https://b/m?sv=1&sig=ab%2FSECRET%3D&se=2": "https://b/m?sv=1&sig=***&se=2",
    "https://b/m?Expires=1&Signature=SECRET": "https://b/m?Expires=1&Signature=***",
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
        "docker run -p 8000:8000 x; mkdir -p a/b1c2d3e4; ssh -p 2222 u@h",
        "sshpass -e ssh -i k u@h; sshpass -p $PW ssh u@h; curl -u $U:$P x; curl -u user x",
        "python -m x --sig 1; http://h/?n=1&page=2",
        "Error: /etc/passwd: No such file or directory",
        "x/db_password: Permission denied",
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


ALL = ("json", "shell", "docker", "compose", "k8s", "systemd", "kserve", "llm-d", "slurm", "ssh")
ENTRY = {"env": [{"name": "DB_PASS", "value": SECRET}]}


def in_patch(form: str, value: Any) -> dict[str, Any]:
    return {"patch": {form: value}}


COPIED: dict[str, dict[str, Any]] = {
    **{f"entry, {form}": in_patch(form, {"spec": {"x": [ENTRY]}}) for form in ("k8s", "kserve", "llm-d")},
    **{f"key, {form}": in_patch(form, {"x": {"MY_TOKEN": SECRET}}) for form in ("compose", "k8s", "kserve", "llm-d")},
    "several": in_patch("k8s", [{"kind": "Service"}, {"kind": "StatefulSet", "stringData": {"password": SECRET}}]),
    "text": in_patch("compose", {"services": {"d": {"environment": [f"DB_PASS={SECRET}"]}}}),
    "flag": in_patch("k8s", {"spec": {"args": ["--api-key", SECRET]}}),
    "one flag": in_patch("k8s", {"spec": {"args": [f"--api-key={SECRET}"]}}),
    "script": in_patch("k8s", {"spec": {"command": ["sh", "-c", f"curl -u me:{SECRET} http://h"]}}),
    "list": in_patch("k8s", {"spec": {"api_keys": ["one-of-two", SECRET]}}),
    "number": in_patch("k8s", {"spec": {"db_password": int(NUMBER)}}),
    "address": in_patch("k8s", {"metadata": {"annotations": {"x": f"http://u:{SECRET}@h"}}}),
    "annotation": {"container": {"annotations": {"x/api-key": SECRET}}},
    "label": {"container": {"node_selector": {"api-token": SECRET}}},
    "toleration": {"container": {"tolerations": [{"key": "a", "value": SECRET}]}, "env": {"HF_TOKEN": SECRET}},
    "resource": {"container": {"resources": {"x/token": SECRET}}},
    "copy in a patch": {**in_patch("compose", {"x-a": f"a{SECRET}b"}), "engine": {"api-key": SECRET}},
    "copy in the image": {"container": {"image": f"reg/x:{SECRET}"}, "env": {"HF_TOKEN": SECRET}},
    "copy in a mount": {"container": {"mounts": [f"/a/{SECRET}:/b"]}, "decode": {"env": {"HF_TOKEN": SECRET}}},
    "copy in a volume": {"container": {"volumes": [{"path": "/a", "pvc": SECRET}]}, "env": {"HF_TOKEN": SECRET}},
    "copy in the name": {"name": f"n-{SECRET}", "env": {"HTTPS_PROXY": f"http://u:{SECRET}@h"}},
    "copy in an address": {"nodes": {"decode": [{"address": SECRET}]}, "env": {"HF_TOKEN": SECRET}},
    "copy of a deep one": {
        "container": {"image": f"x:{SECRET}"},
        "decode": {"kv_transfer_config": {"kv_connector": "NixlConnector", "a": {"access_key": SECRET}}},
    },
}


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("more", COPIED.values(), ids=COPIED)
def test_a_secret_that_forms_would_copy_is_refused_at_its_place(
    more: dict[str, Any], form: str, tmp_path: Path
) -> None:
    profile = {"version": 1, "name": "p", "hardware": "cuda", "target": "vllm==0.32.0", "model": "m", "decode": {}}
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(profile | more))
    said = run(tmp_path, "decode", "--profile", "p.yaml", "--dry-run", "--format", form)
    assert "PD012" in said and "secret" in said and "secretKeyRef" in said
    assert SECRET not in said and NUMBER not in said
    for words in (("check", "p.yaml"), ("check", "p.yaml", "--format", "json"), ("check", "p.yaml", "--diff")):
        assert SECRET not in run(tmp_path, *words)


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"env": [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "HF_TOKEN"}}}]}},
        {"spec": {"affinity": {"podAntiAffinity": [{"topologyKey": "kubernetes.io/hostname"}]}}},
        {"spec": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}},
        {"spec": {"automountServiceAccountToken": False, "volumes": [{"name": "s", "secret": {"secretName": "tls"}}]}},
        {"spec": {"volumes": [{"projected": {"sources": [{"serviceAccountToken": {"path": "t1-of-2"}}]}}]}},
        {"spec": {"imagePullSecrets": [{"name": "registry1"}], "env": [{"name": "A_TOKEN", "value": "$(B_TOKEN)"}]}},
        {"spec": {"env": [{"name": "A_TOKEN", "value": "${B_TOKEN}"}, {"name": "TOKENIZERS_X", "value": "0"}]}},
    ],
)
def test_what_only_names_a_secret_is_no_reason_to_refuse_a_patch(patch: dict[str, Any], tmp_path: Path) -> None:
    profile = {"version": 1, "name": "p", "hardware": "cuda", "target": "vllm==0.32.0", "model": "m", "decode": {}}
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(profile | {"patch": {"k8s": patch}}))
    assert run(tmp_path, "check", "p.yaml").startswith("nothing to report")


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


def test_a_path_that_ends_like_a_secret_is_no_reason_to_mask_what_the_system_says(tmp_path: Path) -> None:
    assert "passwd: No such file or directory" in run(tmp_path, "check", "none/passwd")


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
