"""What is secret is masked at its own place, whatever it is, and everywhere else where it can be nothing else."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from pd_launch.launcher.check.run import check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.secrets.masking import all_secrets, hide, is_ordinary, mask_line, mask_lines
from pd_launch.launcher.secrets.names import is_secret, is_secret_flag
from pd_launch.launcher.secrets.written import written_spans
from pd_launch.launcher.sources.read import read_texts
from tests.command import run

SECRET = "hunter2S3cretZq"
BAD = "--kv-transfer-config '{,}'"
"""A mistake, so that the line is shown."""
NUMBER = "9057316824"


def serve(words: str, before: str = "") -> str:
    return f"{before}vllm serve m {words} {BAD}\n"


SCRIPTS = {
    "api-key": serve(f"--api-key {SECRET}"),
    "several": serve(f"--api-key first-one {SECRET} 'third{SECRET}'"),
    "equals": serve(f"--api-key={SECRET}"),
    "quoted": serve(f'--api-key \'{SECRET}\' --x "--api-key" "{SECRET}"'),
    "next line": f"vllm serve m \\\n  --api-key \\\n  {SECRET} \\\n  {BAD}\n",
    "plural": serve(f"--api-keys {SECRET}"),
    "misspelt": serve(f"--api-kye {SECRET}"),
    "joined": serve(f"--apikey {SECRET}"),
    "underscores": serve(f"--api_keys={SECRET}"),
    "shortened": serve(f"--api-k {SECRET}"),
    "shortened token": serve(f"--hf-to {SECRET}"),
    "other options": serve(f"--db-password {SECRET} --my-token={SECRET}"),
    "token": serve("", f"HF_TOKEN={SECRET} "),
    "AWS": serve("", f"AWS_ACCESS_KEY_ID={SECRET} AWS_SECRET_ACCESS_KEY={SECRET} "),
    "pass": serve("", f"DB_PASS={SECRET} MYSQL_PWD={SECRET} X_PASSPHRASE='{SECRET} more' "),
    "credentials": serve("", f"GCP_CREDENTIALS={SECRET} MY_API_KEYS={SECRET},x "),
    "export": f'export HF_TOKEN="{SECRET}" DB_PASS={SECRET} X=${{\n' + serve(""),
    "by a variable": f"S={SECRET}\n" + serve("--api-key $S"),
    "proxy": serve("", f"HTTPS_PROXY=http://user:{SECRET}@proxy:3128 "),
    "endpoint": serve(f"--otlp-traces-endpoint http://user:{SECRET}@host:4317"),
    "token in an address": serve(f"--model https://{SECRET}XYZ9@github.com/a"),
    "header": f'curl -H "Authorization: Bearer {SECRET}" http://x; ' + serve(""),
    "basic": f"curl --header 'authorization: Basic {SECRET}=' x; " + serve(""),
    "environment": f"docker run -e HF_TOKEN={SECRET} --env 'DB_PASS={SECRET}' vllm/vllm-openai:v1 --bad {SECRET}\n",
    "JSON": serve(f'--additional-config \'{{"access_key": "{SECRET}", "a": {{"password": "{SECRET}"}}}}\''),
    "broken JSON": f'vllm serve m --kv-transfer-config \'{{"secret_access_key": "{SECRET}",, }}\'\n',
    "dotted": serve(f"--kv-transfer-config.access_key {SECRET}"),
    "a copy": serve(f"--no-such {SECRET} --seed x{SECRET}y", f"HF_TOKEN={SECRET} "),
    "a comment": serve("", f"# DB_PASS={SECRET}, kubectl create secret --from-literal=HF_TOKEN={SECRET}\n"),
    "a default": serve("", f'export HF_TOKEN="${{HF_TOKEN:-{SECRET}}}"\n'),
}
ENTRIES = {
    "flow": f"- {{name: HF_TOKEN, value: {SECRET}}}",
    "flow, quoted": f'- {{"name": "HF_TOKEN", "value": "{SECRET}"}}',
    "flow, other order": f"- {{value: '{SECRET}', name: 'HF_TOKEN'}}",
    "block": f"- name: HF_TOKEN\n  value: {SECRET}",
    "block, quoted": f"- name: 'DB_PASS'  # of the database\n  value: \"{SECRET}\"",
    "block, other order": f"- value: {SECRET}\n  name: MYSQL_PWD",
    "proxy": f"- name: HTTP_PROXY\n  value: http://u:{SECRET}@proxy",
}
POD = """apiVersion: v1
kind: Pod
metadata: {{name: decode}}
spec:
  containers:
  - name: a
    image: vllm/vllm-openai:v0.32.0
    command: [vllm, serve, m, --no-such-flag, x{copy}]
    env:
{entry}{fault}
"""


def pod(entry: str, fault: str = "", copy: str = "") -> str:
    return POD.format(entry="".join(f"    {line}\n" for line in entry.split("\n")), fault=fault, copy=copy)


FILES: dict[str, tuple[str, str]] = {
    **{f"script, {name}": ("s.sh", text) for name, text in SCRIPTS.items()},
    **{f"pod, {name}": ("p.yaml", pod(entry)) for name, entry in ENTRIES.items()},
    **{f"pod, {name}, a copy": ("p.yaml", pod(entry, copy=f", {SECRET}")) for name, entry in ENTRIES.items()},
    **{f"broken pod, {name}": ("p.yaml", pod(entry, "    - {name: X, value: y]\n")) for name, entry in ENTRIES.items()},
    **{f"broken there, {name}": ("p.yaml", pod(entry + ": x: y")) for name, entry in ENTRIES.items()},
    "broken flow": ("p.yaml", pod(f"- {{name: HF_TOKEN, value: {SECRET}]")),
    "compose": (
        "c.yaml",
        f"services:\n  a:\n    image: vllm/vllm-openai:v0.32.0\n    command: [--bad, x]\n    environment:\n"
        f"    - HF_TOKEN={SECRET}\n    - DB_PASS={SECRET}\n",
    ),
    "compose, mapping": (
        "c.yaml",
        f"services: {{a: {{command: vllm serve m --bad {SECRET},\n"
        f"  environment: {{MYSQL_PWD: {SECRET}, A_KEY: '{SECRET}'}}}}}}\n",
    ),
    "arguments of a list": (
        "p.yaml",
        f"services:\n  a:\n    command:\n    - vllm\n    - serve\n    - --api-keys\n    - {SECRET}\n    - --bad: [\n",
    ),
    "unit": (
        "e.service",
        f'[Service]\nEnvironment=DB_PASS={SECRET} "HF_TOKEN={SECRET}"\nExecStart=vllm serve m --bad\n',
    ),
    "python": (
        "e.py",
        f"import os, subprocess\nos.environ['HF_TOKEN'] = '{SECRET}'\n"
        f"subprocess.run(['vllm', 'serve', 'm', '--api-key', '{SECRET}', '--bad'], env={{'DB_PASS': '{SECRET}'}})\n",
    ),
    "profile": (
        "p.yaml",
        "version: 1\nhardware: cpu\nmodel: m\nno_such: 1\n"
        f"env: {{HF_TOKEN: {SECRET}}}\ndecode: {{kv_transfer_config: {{access_key: {SECRET}, x: [{SECRET}]}}}}\n",
    ),
    "profile, block": (
        "p.yaml",
        f"version: 1\nhardware: cpu\nmodel: m\ndecode: {{}}\nenv:\n  HF_TOKEN:\n    >-\n    {SECRET}\n"
        f"  DB_PASS: '{SECRET}': x\n",
    ),
}
FORMS = ("text", "concise", "json", "sarif", "github", "junit")


@pytest.mark.parametrize(("name", "text"), FILES.values(), ids=FILES)
def test_no_line_of_a_file_shows_a_secret(name: str, text: str) -> None:
    """Each line as a report would show it, whether or not a finding is on it."""
    deployments = read_texts({name: text})
    secrets = all_secrets(deployments)
    (source,) = [source for d in deployments for source in d.sources.values()][:1]
    for number in range(1, len(source.starts) + 1):
        line = source.line(number)
        shown, _, _ = mask_line(line, 0, len(line), secrets.in_line(source, number))
        assert SECRET not in shown
        assert SECRET not in line or "***" in shown, (line, shown)


@pytest.mark.parametrize(("name", "text"), FILES.values(), ids=FILES)
def test_no_command_shows_a_secret(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    for form in FORMS:
        assert SECRET not in run(tmp_path, "check", name, "--format", form)
    (tmp_path / name).write_text(text)
    if "version: 1" not in text:
        assert SECRET not in run(tmp_path, "init", "--from", name)


@pytest.mark.parametrize("name", ["api-key", "plural", "by a variable", "a copy", "JSON", "pass", "next line"])
def test_no_patch_shows_a_secret(tmp_path: Path, name: str) -> None:
    text = SCRIPTS[name].replace(BAD, "--additional-config '{\"x\": 1,}'")
    (tmp_path / "s.sh").write_text(text)
    patch = run(tmp_path, "check", "s.sh", "--diff")
    assert "+" in patch and "***" in patch and SECRET not in patch


def test_a_profile_of_init_has_no_copy_of_a_secret(tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text(
        serve(f"--no-such {SECRET} --tokenizer {SECRET}", f"HF_TOKEN={SECRET} OTHER={SECRET} ")
    )
    run(tmp_path, "init", "--from", "s.sh", "-o", "p.yaml")
    text = (tmp_path / "p.yaml").read_text()
    assert SECRET not in text and "HF_TOKEN" not in text and "OTHER" not in text
    assert "***" not in str(yaml.safe_load(text))


# -------------------------------------------------------------------------------------------------------------- plans

PLANS: dict[str, dict[str, Any]] = {
    "variable": {"env": {"HF_TOKEN": SECRET, "DB_PASS": SECRET, "AWS_ACCESS_KEY_ID": SECRET, "MYSQL_PWD": SECRET}},
    "flag": {"engine": {"api-key": [SECRET, f"{SECRET}2"]}},
    "JSON": {"decode": {"kv_transfer_config": {"kv_connector": "C", "access_key": SECRET, "n": {"password": SECRET}}}},
    "JSON, list": {
        "decode": {"kv_transfer_config": {"kv_connector": "C", "x": [{"api_key": SECRET}, {"api_key": "o" * 9}]}}
    },
    "JSON, number": {"decode": {"kv_transfer_config": {"kv_connector": "C", "password": int(NUMBER)}}},
    "JSON, below": {"decode": {"kv_transfer_config": {"kv_connector": "C", "credentials": {"id": SECRET}}}},
    "additional": {"engine": {"additional-config": {"access_key": SECRET, "t": "it's"}}},
    "address": {"env": {"HTTPS_PROXY": f"http://user:{SECRET}@proxy"}},
    "address in a flag": {"engine": {"otlp-traces-endpoint": f"http://user:{SECRET}@host"}},
    "address in JSON": {"decode": {"kv_transfer_config": {"kv_connector": "C", "url": f"redis://:{SECRET}@host"}}},
    "header": {"env": {"OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer {SECRET}"}},
    "copy": {
        "env": {"HF_TOKEN": SECRET, "OTHER": f"x{SECRET}y"},
        "engine": {"tokenizer": SECRET},
        "model": f"m{SECRET}",
    },
}
NAME = "hunter2_s3cr3t_9x"
NAMES: dict[str, dict[str, Any]] = {
    "flag": {"engine": {"api-key": NAME, NAME: 3}},
    "bare flag": {"engine": {"api-key": NAME, NAME: True}},
    "flag, from a variable": {"env": {"HF_TOKEN": NAME}, "engine": {f"x-{NAME}": 3}},
    "variable": {"env": {"HF_TOKEN": NAME, NAME: "a", f"A_{NAME}": "b"}},
    "key of JSON": {"engine": {"api-key": NAME, "additional-config": {NAME: {NAME: [1], f"a{NAME}": 2}}}},
    "key of the transfer": {
        "env": {"HF_TOKEN": NAME},
        "decode": {"kv_transfer_config": {"kv_connector": "C", NAME: 1}},
    },
    "number": {"engine": {"additional-config": {"password": int(NUMBER), "n": int(NUMBER), "m": [int(NUMBER)]}}},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_equals_a_secret_is_masked_like_a_value(tmp_path: Path, name: str) -> None:
    write(tmp_path, NAMES[name])
    plan = run(tmp_path, "decode", "--profile", "p.yaml", "--dry-run", "--show-origin")
    assert NUMBER in str(NAMES[name]) or NAME in str(NAMES[name])
    made = json.loads(plan[plan.index("\n{") : plan.rindex("}") + 1])
    additional = NAMES[name].get("engine", {}).get("additional-config")
    assert [len(inner) for inner in _mappings(made["additional_config"])] == [len(i) for i in _mappings(additional)]
    assert len(made["env"]) == len(NAMES[name].get("env", {}))
    for form in RENDERED:
        args = ("decode", "--profile", "p.yaml", "--dry-run", "--show-origin", "--format", form)
        assert not _shows(run(tmp_path, *args)), form
    for args in (
        ("check", "p.yaml"),
        ("check", "p.yaml", "--format", "json"),
        ("check", "p.yaml", "--format", "sarif"),
    ):
        assert not _shows(run(tmp_path, *args)), args


def _mappings(value: Any) -> list[Any]:
    """Return a mapping and those inside it."""
    if not isinstance(value, dict):
        return []
    return [value, *(inner for child in value.values() for inner in _mappings(child))]


def _shows(text: str) -> bool:
    return any(secret in text for secret in (NAME, NAME.replace("_", "-"), NAME.upper(), NUMBER))


RENDERED = ("json", "shell", "docker", "compose", "k8s", "systemd")


def write(folder: Path, more: dict[str, Any]) -> None:
    profile = {"version": 1, "name": "p", "hardware": "cuda", "target": "vllm==0.32.0", "model": "m", "decode": {}}
    (folder / "p.yaml").write_text(yaml.safe_dump(profile | more))


@pytest.mark.parametrize("form", RENDERED)
@pytest.mark.parametrize("name", PLANS)
def test_no_plan_shows_a_secret(tmp_path: Path, name: str, form: str) -> None:
    write(tmp_path, PLANS[name])
    text = run(tmp_path, "decode", "--profile", "p.yaml", "--dry-run", "--format", form, "--show-origin")
    assert SECRET not in text and NUMBER not in text
    for args in (("check", "p.yaml"), ("doctor", "--profile", "p.yaml", "--host-facts", "/dev/null")):
        assert SECRET not in run(tmp_path, *args)


@pytest.mark.parametrize("name", PLANS)
def test_a_script_that_is_given_the_secrets_starts_what_the_launch_would(tmp_path: Path, name: str) -> None:
    from pd_launch.launcher.launch.plan import command_words, environment
    from pd_launch.launcher.launch.prepare import LaunchOptions, prepare

    write(tmp_path, PLANS[name])
    script = run(tmp_path, "decode", "--profile", "p.yaml", "--dry-run", "--format", "shell").partition("\nerror[")[0]
    launch = prepare(LaunchOptions("decode", str(tmp_path / "p.yaml"), dry_run=True)).launches[0]
    words = command_words(launch)
    given = {part.asked: part.text for word in words for part in word.parts if part.asked}
    given |= {word.asked: word.text for word in words if word.asked} | environment(launch)
    with tempfile.TemporaryDirectory() as folder:
        engine = Path(folder) / "vllm"
        engine.write_text("#!/bin/sh\nprintf '%s\\0' vllm \"$@\"\n")
        engine.chmod(0o755)
        start = script[script.index("#!/bin/sh") :].partition("\n\n")[0]
        lines = [line for line in start.split("\n") if not line.startswith(("warning", "info", "  -->"))]
        env = {"PATH": f"{folder}:/usr/bin:/bin", **given}
        done = subprocess.run(["sh", "-c", "\n".join(lines)], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.split("\0")[:-1] == [word.text for word in words], done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--set", f"env.HF_TOKEN={SECRET}"),
        ("--set", f"decode.engine.api-key={SECRET}"),
        ("--set", f"decode.kv_transfer_config={{kv_connector: C, access_key: {SECRET}}}"),
        ("--set", f"env.HTTP_PROXY=http://u:{SECRET}@h"),
        ("--", "--api-key", SECRET, f"{SECRET}2"),
        ("--", f"--api-key={SECRET}"),
        ("--", "--additional-config", f'{{"access_key": "{SECRET}"}}'),
        ("--", f"--otlp-traces-endpoint=http://u:{SECRET}@h"),
    ],
)
@pytest.mark.parametrize("form", RENDERED)
def test_no_form_repeats_a_secret_of_the_command_line(
    tmp_path: Path, form: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {})
    args = ["decode", "--profile", "p.yaml", "--dry-run", "--format", form, *words]
    monkeypatch.setattr("sys.argv", ["pd-launch", *args])
    text = run(tmp_path, *args)
    assert SECRET not in text
    if form == "systemd":
        assert "EnvironmentFile=" in text and "${" in next(line for line in text.splitlines() if "ExecStart=" in line)


# ------------------------------------------------------------------------------------------------- ordinary words stay

WORDS = (
    "vllm",
    "error",
    "model",
    "serve",
    "password",
    "8000",
    "kv_consumer",
    "max-num-seqs",
    "flag",
    "EMPTY",
)


@pytest.mark.parametrize("word", WORDS)
def test_a_secret_that_is_an_ordinary_word_is_masked_at_its_own_place_only(word: str) -> None:
    def messages(secret: str) -> tuple[list[str], str]:
        text = f"HF_TOKEN={secret} vllm serve m --bad x --api-keys {secret} --max-num-seqs 0\n"
        deployments = read_texts({"s.sh": text}, "vllm==0.32.0")
        secrets = all_secrets(deployments)
        (source,) = deployments[0].sources.values()
        line = source.line(1)
        found = hide(check(deployments), secrets)
        said = [f"{f.message} {f.help} {f.fix and f.fix.message}" for f in found]
        return said, mask_line(line, 0, 1, secrets.in_line(source, 1))[0]

    said, line = messages(word)
    assert said == messages(SECRET)[0] and any("vLLM 0.32.0 has no flag" in one for one in said)
    assert line == "HF_TOKEN=*** vllm serve m --bad x --api-keys *** --max-num-seqs 0"


@pytest.mark.parametrize(
    "word", [*WORDS, "changeme", "RecomputeCPUOffloadConnector", "tensor-parallel-size", "vllm serve", "1234567"]
)
def test_ordinary(word: str) -> None:
    assert is_ordinary(word)


@pytest.mark.parametrize("value", [SECRET, "hf_topsecret", "hunter2-s3cr3t", "S" * 16, "p4ssw0rd!", NUMBER])
def test_not_ordinary(value: str) -> None:
    assert not is_ordinary(value)


NOT_SECRET = (
    "vllm serve m --max-num-batched-tokens 8192 --tokenizer /a/b --spec-tokens 3",
    "vllm serve m --max-num-batched-token 8192 --max-num-batched-toke=8192 --tokens-only",
    "vllm serve m --ssl-keyfile /a/b.pem --ssl-keyf /a/b.pem --allow-credentials --ssl-key /a/c.pem",
    "cd $PWD; OLDPWD=/a/b; PASSES=3; COMPASS=north; MONKEYS=3; KEYBOARD=us",
    "git clone ssh://git@github.com/a/b; curl http://host:8000/a@b; curl https://h/a:b@c",
    'HF_TOKEN="$HF_TOKEN" DB_PASS=${DB_PASS:?} vllm serve m --api-key "$API_KEY" --api-key ${K}',
    "{name: DEBUG, value: yes}, {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: s, key: token}}}",
    "api_key: {{ .Values.key }}\nhf_token: <your token>\n",
    '{"image_token_id": 151655, "kv_port": 20001, "pad_tokens": [1, 2]}',
    "a bearer token is needed, basic authentication is not; the key: see below",
    "imagePullSecrets:\n- name: regcred\n",
)


@pytest.mark.parametrize("text", NOT_SECRET)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert mask_lines(text) == text


@pytest.mark.parametrize(
    ("flag", "secret"),
    [
        *((f"--{'api-key'[:length]}", True) for length in range(3, 8)),
        *((f"--{'hf-token'[:length]}", True) for length in range(4, 9)),
        ("--api_key", True),
        ("--api-keys", True),
        ("--kv-transfer-config.access_key", True),
        ("--ssl-keyfile", False),
        ("--ssl-key", False),
        ("--max-num-batched-token", False),
        ("--tokenizer", False),
        ("--token", True),  # fits several flags, and is one of other programs
        ("--my-token", True),
        ("--seed", False),
        ("-a", False),
    ],
)
def test_a_short_name_is_secret_exactly_when_its_flag_is(flag: str, secret: bool) -> None:
    assert is_secret_flag(flag) == secret


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "A_PASS", "PASS", "MYSQL_PWD", "AWS_ACCESS_KEY_ID", "X_CREDENTIALS", "apiKey"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "PWD",
        "OLDPWD",
        "BYPASS",
        "TOKENS",
        "KEYFILE",
        "SECRETARY",
        "PASSES",
        "allow-credentials",
        "MAX_NUM_BATCHED_TOKEN",
    ],
)
def test_names_of_nothing_secret(name: str) -> None:
    assert not is_secret(name)


NASTY = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Zl", "Zp"]), min_size=8, max_size=40
)


@cache
def _own_words() -> str:
    """What is reported of such a line, whatever the secret."""
    return str(check(read_texts({"s.sh": "HF_TOKEN=x vllm serve m --api-keys x --bad --seed x\n"})))


@settings(max_examples=150, deadline=None)
@given(NASTY.filter(lambda text: not is_ordinary(text) and text.strip() == text))
def test_no_stretch_of_any_secret_is_shown(secret: str) -> None:
    quoted = shlex.quote(secret)
    text = f"HF_TOKEN={quoted} vllm serve m --api-keys {quoted} --bad --seed {quoted}\n"
    if secret.startswith(("-", "<")) or "{{" in secret:
        return  # a flag, or a placeholder
    deployments = read_texts({"s.sh": text})
    secrets = all_secrets(deployments)
    (source,) = deployments[0].sources.values()
    line = source.line(1)
    shown = mask_line(line, 0, 1, secrets.in_line(source, 1))[0] + str(hide(check(deployments), secrets))
    frame = text.replace(quoted, "") + _own_words()
    for start in range(len(secret) - 5):
        stretch = secret[start : start + 6]
        assert stretch in frame or "'" in stretch or stretch not in shown, shown


def test_marks_stay_under_their_characters() -> None:
    line = "A_KEY=abcdefghijkl B_KEY=mn vllm"
    spans = written_spans(line)
    assert [line[a:b] for a, b in spans] == ["abcdefghijkl", "mn"]
    shown, start, end = mask_line(line, 28, 32, spans)
    assert shown == "A_KEY=*** B_KEY=*** vllm" and shown[start:end] == "vllm"


def test_the_beginning_of_a_long_secret_is_masked_where_a_message_cuts_it_short() -> None:
    secret = "a1" * 50
    deployments = read_texts({"s.sh": f"HF_TOKEN={secret} vllm serve m {secret} --seed {secret}\n"})
    said = str(hide(check(deployments), all_secrets(deployments)))
    assert "…" in said and "***" in said and "a1a1" not in said


@pytest.mark.parametrize(
    ("name", "text"),
    {
        "s.sh": "S=error\nvllm serve m --api-key $S --portt 1\nHF_TOKEN={}\n",
        "two-lines.sh": 'export HF_TOKEN="first9line\n{}"\nvllm serve m --portt 1\n',
        "flag.sh": 'vllm serve m --portt 1 --api-key "first9line\n{}"\n',
        "joined.sh": "vllm serve m --portt 1 --api_key='first9half'\"{}\"\n",
        "misspelt.sh": "vllm serve m --portt 1 --api-kye first9word {}\n",
        "alone.sh": "TOKEN={};vllm serve m --portt 1\n",
        "f.py": 'from vllm import LLM\nAPI_KEY = f"{}"\nLLM("m", tensor_paralel_size=1)\n',
        "block.yaml": "services:\n  d:\n    image: vllm/vllm-openai:v0.32.0\n    ipc: host\n    environment:\n"
        "      MY_KEY: |\n        first9line\n        {}\n    command: --portt 1\n",
    }.items(),
)
def test_no_line_of_a_patch_or_a_report_shows_a_secret(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text.format(SECRET))
    for words in (["--diff", "--unsafe-fixes"], ["--format", "json"], []):
        done = CliRunner().invoke(cli, ["check", "--target", "vllm==0.32.0", *words, str(tmp_path / name)])
        assert "portt" in done.output or "paralel" in done.output, done.output
        assert SECRET not in done.output and "first9" not in done.output, done.output


def test_a_flag_of_a_script_that_equals_a_secret_is_masked(tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text(serve(f"--api-key {NAME} --{NAME} 3"))
    for form in ("text", "json", "sarif", "github", "concise"):
        said = run(tmp_path, "check", "s.sh", "--format", form)
        assert "has no flag --***" in said and not _shows(said), form


def test_an_empty_secret_takes_nothing_of_the_next_line() -> None:
    deployments = read_texts({"s.sh": "export HF_TOKEN=\nvllm serve m --portt 1\n"})
    assert (
        mask_lines("export HF_TOKEN=\nvllm serve m\n", all_secrets(deployments)) == "export HF_TOKEN=\nvllm serve m\n"
    )


PUMPS = (
    "key", "api_key", "a.b-", "--a ", "--api-key ", "value: ", "name: ", "://", "://a:", "Bearer ", "token=", '"', "\\",
    " ", "name: a_key,", "{name: ", "\n", "- ", "[", "x", "password: ", "--api-key \\\n",
)  # fmt: skip


@pytest.mark.parametrize("pump", PUMPS)
def test_the_search_costs_no_more_than_the_text_is_long(pump: str) -> None:
    times = []
    for size in (100_000, 400_000):
        text = pump * (size // len(pump))
        start = time.process_time()
        written_spans(text)
        times.append(time.process_time() - start)
    assert times[1] < 8 * times[0] + 0.5, times


def test_masked_json_is_json(tmp_path: Path) -> None:
    write(tmp_path, {"decode": {"kv_transfer_config": {"kv_connector": "C", "password": f'{SECRET}"\\', "n": 1}}})
    text = run(tmp_path, "decode", "--profile", "p.yaml", "--dry-run")
    plan = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert plan["kv_transfer_config"]["password"] == "***" and plan["kv_transfer_config"]["n"] == 1
    argument = plan["argv"][plan["argv"].index("--kv-transfer-config") + 1]
    assert json.loads(argument) == plan["kv_transfer_config"]
