"""Any text of a profile or script is only text in every form: the same documents, commands and keys as a harmless one.

Each form is read by its own parser: shells run the scripts with stand-ins that print their arguments, YAML is loaded,
units are read by the rules of systemd.exec(5) and systemd.syntax(7).
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pd_launch.launcher.formats.box import FormatError
from pd_launch.launcher.formats.choose import TEXTS, WHOLE
from pd_launch.launcher.formats.words import shell_word
from pd_launch.launcher.init.convert import convert
from pd_launch.launcher.launch.prepare import Launch, LaunchOptions, prepare
from pd_launch.launcher.report.plain_json import plain_json
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.wording.width import shows_all
from pd_launch.schemas.core.values import Node, SourceFile
from pd_launch.schemas.profile import is_line

PIECES = (
    *"'\"`$\\#%@&*!|>?:;,<~{}[]-=", "`touch pwned`", "$(touch pwned)", "${HOME}", "$HOME", "$$",
    "\\n", "; touch pwned;",
    "\n", "\r", "\r\n", "\t", " ", " #", ": ", "- ", "--", "---", "\n---\n", "...", "{{ x", "{%", "!!int", "%h",
    "<<E", "EOF", "&& touch pwned", "||", "= ", "null", "true", "1e3", "0x10", "0o7", "1:30", "# pd-launch: ignore",
    "\x1b]0;x\x07", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\ufeff", "\xa0", "\u3000", "é", "漢字",
    "\nx-evil: {a: 1}\n", "\n[Service]\nExecStart=/bin/touch pwned\n", "x" * 5_000,
)  # fmt: skip
"""What means something to some form."""
ANY = st.characters(exclude_categories=["Cs", "Co", "Cn"], exclude_characters="\0")
TEXT = st.lists(st.sampled_from(PIECES) | st.text(ANY, max_size=5), min_size=1, max_size=6).map(
    lambda parts: "".join(parts).replace("}}", "}")
)
"""Without whole templates: what stands between their braces is filled in by others, and unknown."""
LINE = TEXT.map(lambda text: "".join(c for c in text if is_line(c)))
HARMLESS = "harmless"
STAND_IN = """#!/bin/sh
printf '%s\\0' "$@" > "$OUT"
printf '%s' "${X_TEXT-}" > "$OUT.env"
"""


def profile_of(text: str, line: str) -> dict[str, Any]:
    path = line.replace(":", "")
    return {
        "version": 1,
        "name": f"n{line}",
        "hardware": "cuda",
        "target": "vllm==0.32.0",
        "model": f"m{line}",
        "env": {"X_TEXT": text},
        "engine": {"chat-template": f"t{text}", "served-model-name": [f"a{text}", f"b{text}"]},
        "container": {
            "image": f"i{line}",
            "runtime": f"r{line}",
            "name": "a.name_0",
            "mounts": [f"/h{path}:/c{path}:ro"],
            "devices": [f"/dev/{line}"],
            "annotations": {"x/n": text},
            "node_selector": {"l": f"l{line}"},
            "resources": {"r/x": f"r{line}"},
            "tolerations": [{"key": text}],
            "volumes": [{"path": f"/v{path}", "host": f"/w{path}"}],
        },
        "decode": {"kv_transfer_config": {"kv_connector": "NixlConnector", "kv_role": "kv_consumer", f"k{text}": text}},
    }


def launch_of(profile: dict[str, Any], form: str, extra: tuple[str, ...] = ()) -> Launch:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.yaml"
        path.write_text(yaml.safe_dump(profile, allow_unicode=False), encoding="utf-8")
        options = LaunchOptions("decode", str(path), dry_run=True, whole=form in WHOLE, extra=extra)
        launch = prepare(options)
    assert launch.plan is not None, [f.message for f in launch.findings if f.severity == "error"]
    return launch


def ran(script: str, shell: str) -> tuple[list[str], str]:
    """Run a script whose vllm and docker print their arguments; return these, and the variable X_TEXT."""
    with tempfile.TemporaryDirectory() as folder:
        bin_, work, out = Path(folder) / "bin", Path(folder) / "work", Path(folder) / "out"
        bin_.mkdir()
        work.mkdir()
        for name in ("vllm", "docker"):
            (bin_ / name).write_text(STAND_IN)
            (bin_ / name).chmod(0o755)
        file = Path(folder) / "script"
        file.write_text(script, encoding="utf-8", newline="")
        env = {"PATH": f"{bin_}:/usr/bin:/bin", "OUT": str(out), "HOME": "/nowhere", "LC_ALL": "C.UTF-8"}
        subprocess.run(["bash", "-n", str(file)], check=True, capture_output=True, timeout=60)
        subprocess.run([shell, str(file)], cwd=work, env=env, check=True, capture_output=True, timeout=60)
        assert list(work.iterdir()) == []
        words = out.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
        return words, (Path(folder) / "out.env").read_bytes().decode()


def shape(value: Any) -> Any:
    """Return what a document is made of: its keys, how many elements its lists have, and the kinds of its values."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__


def comments(text: str) -> int:
    return sum(line.startswith("#") for line in text.splitlines())


@settings(max_examples=60, deadline=None)
@given(TEXT, LINE)
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_shell_scripts_start_exactly_what_the_plan_says(shell: str, text: str, line: str) -> None:
    launch = launch_of(profile_of(text, line), "shell")
    script = TEXTS["shell"](launch)
    assert shows_all(script)
    words, variable = ran(script, shell)
    assert launch.plan is not None
    assert words == launch.plan.argv[1:]
    assert variable == text


@settings(max_examples=60, deadline=None)
@given(TEXT, LINE)
def test_docker_scripts_start_one_container_with_its_options(text: str, line: str) -> None:
    launch = launch_of(profile_of(text, line), "docker")
    script = TEXTS["docker"](launch)
    assert shows_all(script)
    words, _ = ran(script, "sh")
    twin, _ = ran(TEXTS["docker"](launch_of(profile_of(HARMLESS, HARMLESS), "docker")), "sh")
    assert launch.plan is not None
    rest = launch.plan.argv[1:]
    assert words[-len(rest) :] == rest and words[-len(rest) - 1] == f"i{line}"
    assert [word.partition("=")[0] for word in words[: -len(rest) - 1] if word.startswith("--")] == [
        word.partition("=")[0] for word in twin[: -len(rest) - 1] if word.startswith("--")
    ]
    assert len(words) == len(twin)
    assert words[words.index("--device") + 1] == f"/dev/{line}"
    assert f"--runtime=r{line}" in words and f"X_TEXT={text}" in words and "a.name_0" in words


@settings(max_examples=60, deadline=None)
@given(TEXT, LINE)
@pytest.mark.parametrize("form", ["compose", "k8s"])
def test_yaml_has_the_documents_and_keys_of_the_harmless_twin(form: str, text: str, line: str) -> None:
    launch = launch_of(profile_of(text, line), form)
    rendered = TEXTS[form](launch)
    twin = TEXTS[form](launch_of(profile_of(HARMLESS, HARMLESS), form))
    assert shows_all(rendered)
    documents = list(yaml.safe_load_all(rendered))
    assert shape(documents) == shape(list(yaml.safe_load_all(twin)))
    assert comments(rendered) == comments(twin)
    assert launch.plan is not None
    written = [word.replace("$", "$$") for word in launch.plan.argv[1:]]
    if form == "compose":
        service = documents[0]["services"]["decode"]
        assert service["command"] == written
        assert service["environment"]["X_TEXT"] == text.replace("$", "$$")
        assert service["image"] == f"i{line}".replace("$", "$$")
    else:
        container = documents[1]["spec"]["template"]["spec"]["containers"][0]
        assert container["args"] == written
        assert {"name": "X_TEXT", "value": text.replace("$", "$$")} in container["env"]
        assert container["image"] == f"i{line}"


ESCAPES = {"n": "\n", "\\": "\\", '"': '"', "'": "'", "s": " ", "t": "\t", "r": "\r"}


def unit_words(value: str) -> list[str]:
    """Split a setting of a unit as systemd does, and undo its escapes, specifiers and variables."""
    found: list[str] = []
    at = 0
    while at < len(value):
        if value[at] in " \t":
            at += 1
            continue
        word, quote = "", ""
        while at < len(value) and (quote or value[at] not in " \t"):
            character = value[at]
            if character == "\\":
                match = re.compile(r"\\(?:x([0-9a-f]{2})|U([0-9a-f]{8})|(.))").match(value, at)
                assert match is not None
                code = match[1] or match[2]
                word += chr(int(code, 16)) if code else ESCAPES[match[3]]
                at = match.end()
            elif character == quote or (not quote and character in "\"'" and not word):
                quote = "" if quote else character
                at += 1
            else:
                word += character
                at += 1
        assert not quote
        found.append(word.replace("%%", "%").replace("$$", "$"))
    return found


@settings(max_examples=60, deadline=None)
@given(TEXT, LINE)
def test_units_have_the_settings_of_the_harmless_twin(text: str, line: str) -> None:
    units = []
    for extra in (("--tokenizer", f"t{text}"), ("--tokenizer", HARMLESS)):
        units.append(TEXTS["systemd"](launch_of(profile_of(text, line), "systemd", extra)))
    assert shows_all(units[0])
    lines = [re.split(r"[\n\r]", unit) for unit in units]  # a line ends at either
    assert [one.partition("=")[0] for one in lines[0]] == [one.partition("=")[0] for one in lines[1]]
    start = next(one for one in lines[0] if one.startswith("ExecStart="))
    assert not start.endswith("\\") or start.endswith("\\\\")
    assert unit_words(start.partition("=")[2])[-3:] == ["--", "--tokenizer", f"t{text}"]


@settings(max_examples=60, deadline=None)
@given(TEXT, LINE)
def test_the_plan_is_json_that_a_terminal_only_shows(text: str, line: str) -> None:
    launch = launch_of(profile_of(text, line), "json")
    assert launch.plan is not None
    shown = plain_json(launch.plan.model_dump_json(by_alias=True, indent=2))
    assert json.loads(shown)["env"]["X_TEXT"] == text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", shown)


@settings(max_examples=60, deadline=None)
@given(TEXT)
def test_init_writes_what_is_read_back(text: str) -> None:
    def script(value: str) -> str:
        return f"export X_TEXT={shlex.quote(value)}\nvllm serve m --chat-template {shlex.quote('t' + value)}\n"

    made = [convert(read_texts({"s.sh": script(value)})).text for value in (text, HARMLESS)]
    profiles = [list(yaml.safe_load_all(one)) for one in made]
    assert shows_all(made[0])
    assert len(profiles[0]) == len(profiles[1]) == 1
    if "{{" not in text and "{%" not in text and "<" not in text:  # placeholders are no values
        assert shape(profiles[0][0].keys()) == shape(profiles[1][0].keys())


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_a_word_of_a_shell_is_that_word(text: str) -> None:
    word = shell_word(text)
    assert shows_all(word)
    done = subprocess.run(["sh", "-c", f"printf '%s|' {word}"], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == f"{text}|"


@pytest.mark.parametrize("unseen", ["\n", "\r", "\x1b", "\x7f", "\x85", "\u2028", "\u202e", "\u200b", "\ufeff"])
@pytest.mark.parametrize(
    "path", ["name", "model", "container.image", "container.runtime", "container.mounts.0", "container.name"]
)
def test_names_with_control_characters_are_refused_at_their_place(path: str, unseen: str) -> None:
    profile = profile_of(HARMLESS, HARMLESS)
    *way, last = path.split(".")
    section: Any = profile
    for step in way:
        section = section[step]
    key: Any = int(last) if last.isdigit() else last
    section[key] = f"a{unseen}\n---\nx"
    loaded = load_profile(SourceFile("p.yaml", json.dumps(profile)))
    assert loaded.profile is None
    (fault,) = loaded.faults
    assert fault.detail.en.startswith(f"{path}: ") and fault.detail.zh.startswith(f"{path}：")
    assert fault.help and fault.help.zh and is_line(fault.detail.en)


@pytest.mark.parametrize("name", ["", "a", "-a", ".a", "a b", "$(touch pwned)x", "a/b", "ä1", "a;b", "a\n"])
def test_names_that_docker_refuses_are_refused(name: str) -> None:
    loaded = load_profile(SourceFile("p.yaml", json.dumps({**profile_of("x", "x"), "container": {"name": name}})))
    assert [fault.detail.en for fault in loaded.faults] == [f"container.name: {name!r} is not a valid container name"]


@pytest.mark.parametrize("where", ["model", "env", "engine", "key"])
@pytest.mark.parametrize("text", ["a\\0b", "\\ud800"])
def test_text_that_no_program_can_be_given_is_refused(where: str, text: str) -> None:
    values = {"model": f'model: "{text}"', "env": f'env: {{A: "{text}"}}', "engine": f'engine: {{seed: "{text}"}}'}
    values["key"] = f'engine: {{"{text}": 1}}'
    source = (
        "version: 1\nhardware: cpu\n" + ("" if where == "model" else "model: m\n") + f"{values[where]}\ndecode: {{}}\n"
    )
    loaded = load_profile(SourceFile("p.yaml", source))
    assert loaded.profile is None and loaded.faults


@pytest.mark.parametrize("form", ["shell", "docker", "compose", "k8s", "systemd"])
def test_an_option_whose_name_is_a_command_names_no_command(form: str) -> None:
    name = "$(touch pwned); `touch pwned`-api-key"
    extra = (f"--{name}", "hunter2-s3cr3t")
    text = TEXTS[form](launch_of(profile_of(HARMLESS, HARMLESS), form, extra))
    assert "hunter2" not in text
    if form in ("shell", "docker"):
        asked = re.findall(r"\$\{([^}]*):\?\}", text)
        assert asked and all(re.fullmatch(r"[A-Z0-9_]+", one) for one in asked)
        with tempfile.TemporaryDirectory() as folder:
            env = {"PATH": "/usr/bin:/bin"}
            done = subprocess.run(["sh", "-c", text], cwd=folder, env=env, capture_output=True, timeout=60)
            assert done.returncode and list(Path(folder).iterdir()) == []


NODES = """
transfer: {connector: NixlConnector}
prefill: {port: 8100}
nodes: {prefill: [{address: "$(touch pwned)"}], decode: [{address: "; touch pwned; `touch pwned`"}]}
"""


def written(tmp_path: Path, form: str, more: str) -> str:
    text = f"version: 1\nhardware: cuda\ntarget: vllm==0.32.0\nmodel: m\ndecode: {{port: 8200}}\n{more}"
    (tmp_path / "p.yaml").write_text(text)
    launch = prepare(LaunchOptions("decode", str(tmp_path / "p.yaml"), dry_run=True, whole=form in WHOLE))
    assert launch.plan is not None, [finding.message for finding in launch.findings]
    return TEXTS[form](launch)


def test_commands_in_comments_are_quoted_for_whoever_copies_them(tmp_path: Path) -> None:
    text = written(tmp_path, "ssh", NODES)
    commands = re.findall(r"^# .*?: ((?:python|curl) .*)$", text, re.MULTILINE)
    assert [shlex.split(command)[0] for command in commands] == ["curl", "curl", "python"]
    for command in commands:
        assert "touch" not in re.sub(r"'[^']*'", "", command)


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("{metadata: x}", "patch.k8s: metadata must be a mapping"),
        ("[{kind: Service}, {metadata: null}]", "patch.k8s.1: metadata must be a mapping"),
        ("{kind: 3}", "patch.k8s: kind must be a string"),
        ("{metadata: {name: null}}", "patch.k8s: metadata.name must be a string"),
        ('{spec: "{{ y }}"}', "a placeholder, which nothing fills in"),
        ('{"{{ y }}": 1}', "a placeholder, which nothing fills in"),
        ("5", "patch.k8s: must be a mapping, not a number"),
        ("[5]", "patch.k8s.0: must be a mapping, not a number"),
    ],
)
def test_patches_that_name_no_object_are_refused_once(patch: str, said: str) -> None:
    text = f"version: 1\nhardware: cuda\nmodel: m\ndecode: {{}}\npatch: {{k8s: {patch}}}\n"
    loaded = load_profile(SourceFile("p.yaml", text))
    assert loaded.profile is None
    assert [fault.detail.en for fault in loaded.faults] == [said]


@pytest.mark.parametrize(
    "text",
    [
        'container: {annotations: {"{{ x }}": a}}',
        'env: {"{{ x }}": a}',
        'engine: {"{{ x }}": a}',
        '"{{ x }}": 1',
        'container: {tolerations: [{key: "{{ x }}"}]}',
    ],
)
def test_placeholders_that_would_be_copied_are_refused(text: str) -> None:
    loaded = load_profile(SourceFile("p.yaml", f"version: 1\nhardware: cuda\nmodel: m\ndecode: {{}}\n{text}\n"))
    assert loaded.profile is None
    assert [fault.detail.en for fault in loaded.faults] == ["a placeholder, which nothing fills in"]


def test_lists_whose_names_are_no_names_take_the_place_of_lists(tmp_path: Path) -> None:
    patch = "patch: {k8s: {kind: StatefulSet, spec: {template: {spec: {containers: [{name: [a]}]}}}}}\n"
    documents = list(yaml.safe_load_all(written(tmp_path, "k8s", patch)))
    assert documents[1]["spec"]["template"]["spec"]["containers"] == [{"name": ["a"]}]


def test_a_volume_of_its_own_on_shared_memory_is_the_one_of_kserve(tmp_path: Path) -> None:
    more = f"{NODES}container: {{volumes: [{{path: /dev/shm/, empty: 3GiB}}]}}\n"
    service = yaml.safe_load(written(tmp_path, "kserve", more))
    spec = service["spec"]["template"]
    assert spec["volumes"] == [{"name": "dshm", "emptyDir": {"sizeLimit": "3Gi"}}]
    assert "volumeMounts" not in spec["containers"][0]


@pytest.mark.parametrize("form", ["shell", "docker", "compose", "k8s"])
def test_no_form_is_printed_that_shows_a_secret(form: str) -> None:
    """Whichever part of it would: here the name of a flag, which nothing masks."""
    launch = launch_of(profile_of(HARMLESS, HARMLESS), "json")
    whole = launch.whole or launch.deployment
    for node in {id(n): n for n in [*whole.nodes, *launch.launches]}.values():
        node.env["A_TOKEN"] = replace(node.env["X_TEXT"], name="A_TOKEN", value=Node("sim-hunter2-s3cr3t", node.origin))
        node.add(replace(node.args[-1], written="--sim-hunter2-s3cr3t"))
    with pytest.raises(FormatError, match="a secret of the profile would be shown") as refused:
        TEXTS[form](launch)
    assert "hunter2" not in str(refused.value)
