"""``check`` of folders and of batches of files: statuses, configurations, groups, and what is said of no engine."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli

WRONG = "vllm serve m --portt 1\n"
RIGHT = "vllm serve m --port 8100\n"


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def check(*words: str) -> Done:
        arguments = ["check", *words, "--target", "vllm==0.32.0"]
        monkeypatch.setattr("sys.argv", ["pd-launch", *arguments])
        done = CliRunner().invoke(cli, arguments)
        return Done(done.exit_code, done.stdout, done.stderr)

    return check


def write(**files: str) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def places(done: Done) -> list[str]:
    return [line.split(" ")[0] + line.split("[")[1][:5] for line in done.out.splitlines()]


def test_each_file_of_a_folder_by_itself(run: Run) -> None:
    write(**{"a/x.sh": WRONG, "a/y.sh": RIGHT, "a/b/z.sh": WRONG, "a/n.md": WRONG, "a/none.py": "x = 1\n"})
    done = run("a", "--format", "concise")
    assert done.code == 1 and places(done) == ["a/b/z.sh:1:14:PD004", "a/x.sh:1:14:PD004"]
    assert places(run(".", "--format", "concise")) == places(done) == places(run("./a/", "--format", "concise"))


def test_a_folder_and_files_beside_it(run: Run) -> None:
    write(**{"a/x.sh": WRONG, "y.sh": WRONG})
    done = run("a", "y.sh", "a/x.sh", "--format", "concise")
    assert places(done) == ["a/x.sh:1:14:PD004", "y.sh:1:14:PD004"]


def test_files_without_an_engine_beside_one_are_named(run: Run) -> None:
    """A file that starts an engine in an unknown way must not look checked; files of a folder are too many to name."""
    write(**{"x.sh": RIGHT, "start.sh": "exec ./start-engine\n", "a/y.sh": RIGHT, "a/stop.sh": "pkill vllm\n"})
    assert "; no engine in start.sh)" in run("x.sh", "start.sh").out
    assert "；start.sh 中没有引擎）" in run("x.sh", "start.sh", "--lang", "zh").out
    assert "no engine in" not in run("x.sh").out + run("a").out
    many = [f"{number}.sh" for number in range(8)]
    write(**dict.fromkeys(many, "exec ./start-engine\n"))
    assert "; no engine in 0.sh, 1.sh, 2.sh, 3.sh, 4.sh, 5.sh …)" in run("x.sh", *many).out


def test_no_engine_anywhere_is_said_once(run: Run) -> None:
    write(**{"a/x.sh": "echo\n", "a/y.py": "import vllm\n", "b/z.sh": RIGHT})
    done = run("a", "--format", "concise")
    assert done.code == 1 and places(done) == ["a:1:1:PD010"] and "in 2 files in this folder" in done.out
    assert run("a", "--allow-no-engine").code == 0
    assert run("a", "b").code == 0
    assert run("a", "--ignore", "PD010").code == 0
    assert json.loads(run("a", "--format", "json", "--allow-no-engine").out)["summary"]["files"] == 0


def test_what_is_wrong_without_an_engine_is_no_finding_of_a_folder(run: Run) -> None:
    write(
        **{
            "a/right.sh": RIGHT,
            "a/words.py": "# pd-launch: ignore[PD406] a comment of other tools\nvllm = 'serve'\n",
            "a/old.py": "import vllm\nprint 'serve'\n",
            "a/torn.sh": 'pip install vllm\necho "no end\n',
            "a/values.yaml": "vllm: {{ .Values.x }\n  - y\n",
            "a/job.yaml": "jobs:\n  vllm: [a\n",
        }
    )
    done = run("a", "--format", "concise")
    assert done.code == 0 and done.out == "", done
    write(**{"a/pod.yaml": "apiVersion: v1\nkind: Pod\nspec: [image: vllm/vllm-openai\n"})
    assert {place.split(":")[0] for place in places(run("a", "--format", "concise"))} == {"a/pod.yaml"}


def test_a_missing_path_does_not_stop_the_rest(run: Run) -> None:
    write(**{"a/x.sh": WRONG, "y.sh": WRONG})
    done = run("nope.sh", "y.sh", "nowhere", "a", "--format", "concise")
    assert done.code == 2 and places(done) == ["a/x.sh:1:14:PD004", "y.sh:1:14:PD004"]
    assert "nope.sh: No such file" in done.err and "nowhere: No such file" in done.err
    assert run("nope.sh", "--exit-zero").code == 2


def test_exclude_and_force_exclude(run: Run) -> None:
    write(**{"a/x.sh": WRONG, "a/gen/y.sh": WRONG, "pd-launch.toml": 'exclude = ["gen/", "/a/z*"]\n', "a/z1.sh": WRONG})
    assert places(run(".", "--format", "concise")) == ["a/x.sh:1:14:PD004"]
    assert run("a/gen/y.sh").code == 1
    assert run("a/gen/y.sh", "--force-exclude", "--separate", "--allow-no-engine").code == 0
    assert run("a/z1.sh", "a/x.sh", "--force-exclude", "--format", "concise").out.count("PD004") == 1
    assert "left out by exclude 2" in run(".", "-v").err


def test_the_configuration_of_each_folder_counts(run: Run) -> None:
    write(**{"pd-launch.toml": 'ignore = ["PD004"]\n', "a/x.sh": WRONG, "b/pd-launch.toml": "", "b/x.sh": WRONG})
    assert places(run(".", "--format", "concise")) == ["b/x.sh:1:14:PD004"]
    write(**{"b/pd-launch.toml": 'fail-on = "warning"\n[severity]\nPD004 = "warning"\n'})
    assert run(".").code == 1
    write(**{"b/pd-launch.toml": '[severity]\nPD004 = "warning"\n'})
    assert run(".").code == 0


def test_a_configuration_that_cannot_be_used_is_said(run: Run) -> None:
    write(**{"a/x.sh": WRONG, "b/pd-launch.toml": "nonsense = 1\n", "b/y.sh": WRONG})
    done = run(".", "--format", "concise")
    assert done.code == 2 and "unknown key 'nonsense'" in done.err and len(places(done)) == 2


PAIR = (
    'vllm serve m --kv-transfer-config \'{"kv_connector":"NixlConnector","kv_role":"kv_producer"}\'\n',
    'vllm serve m --kv-transfer-config \'{"kv_connector":"MooncakeConnector","kv_role":"kv_consumer"}\'\n',
)


def test_files_that_a_configuration_groups_are_one_deployment(run: Run) -> None:
    write(**{"prod/prefill.sh": PAIR[0], "prod/decode.sh": PAIR[1], "other.sh": RIGHT})
    assert "PD601" not in run(".", "--format", "concise").out
    write(**{"pd-launch.toml": '[[deployment]]\nfiles = ["prod/*.sh"]\n'})
    assert "PD601" in run(".", "--format", "concise").out and "PD601" in run("prod", "--format", "concise").out


@pytest.mark.parametrize(
    "text", ["exclude = 'x'\n", "[[deployment]]\nfile = ['x']\n", "deployment = 1\n", "baseline = 1\n"]
)
def test_keys_of_the_wrong_kind(run: Run, text: str) -> None:
    write(**{"pd-launch.toml": text, "a.sh": RIGHT})
    assert "pd-launch.toml: " in run(".").err


def test_a_verdict_does_not_depend_on_the_batch(run: Run) -> None:
    """pre-commit hands over a commit's files in batches of any size and order."""
    write(
        **{
            "none.py": "import vllm\n",
            "ci.yml": "on: push\n",
            "build.sh": "pip install vllm\n",
            "binary.sh": "\0vllm serve",
            "broken.py": "LLM('m'\n",
            "a/run.sh": "vllm serve m --config more.yaml\n",
            "a/more.yaml": "portt: 1\n",
            "b/more.yaml": "port: 1\n",
            "c/run.sh": "pd-launch decode --profile p.yaml --target vllm==0.30.0\n",
            "c/p.yaml": "version: 1\nhardware: cpu\nmodel: m\ndecode: {portt: 1}\n",
            "c/pd-launch.toml": '[severity]\nPD012 = "warning"\n',
            "d/p.yaml": "version: 1\nhardware: cpu\nmodel: m\ndecode: {port: 1}\n",
            "wrong.sh": WRONG,
        }
    )
    files = [str(path) for path in sorted(Path().rglob("*")) if path.is_file() and path.suffix != ".toml"]
    hook = ("--separate", "--allow-no-engine", "--force-exclude", "--format", "concise")

    def verdict(*batch: str) -> set[str]:
        done = run(*hook, *batch)
        assert done.code == int("error[" in done.out), done
        return set(done.out.splitlines())

    alone = {file: verdict(file) for file in files}
    assert not any(alone[file] for file in ("none.py", "ci.yml", "build.sh", "broken.py"))
    assert alone["binary.sh"] and alone["a/run.sh"] and alone["c/p.yaml"] and alone["wrong.sh"]
    assert verdict(*files) == verdict(*reversed(files)) == set().union(*alone.values())
    for pair in itertools.combinations(files, 2):
        assert verdict(*pair) == alone[pair[0]] | alone[pair[1]], pair


def test_too_large_is_not_without_an_engine(run: Run) -> None:
    write(**{"big.sh": "vllm serve m\n" + "# x\n" * 600_000})
    done = run("big.sh", "--format", "concise")
    assert done.code == 1 and "PD014" in done.out and "larger than 2 MiB" in done.out and "PD010" not in done.out
    assert "PD014" in run("--separate", "--allow-no-engine", "big.sh", "--format", "concise").out
    write(**{"data.json": '["vllm serve m"' + ', "x"' * 600_000 + "]"})
    assert run("--separate", "--allow-no-engine", "data.json").code == 0
    assert places(run(".", "--format", "concise")) == ["big.sh:1:1:PD014"]


UNREADABLE = {
    "nul.sh": b"#!/bin/bash\nvllm serve m \0 --bad 1\n",
    "nul.py": b"# \0\nimport subprocess\nsubprocess.run(['vllm', 'serve', 'm', '--bad', '1'])\n",
    "nul.yaml": b"# \0\nservices: {a: {command: vllm serve m --bad 1}}\n",
    "Dockerfile": b"FROM vllm/vllm-openai\n# \0\nCMD vllm serve m --bad 1\n",
    **{
        f"{name}.sh": f"{mark}#!/bin/bash\n# 启动\nvllm serve m --bad 1\n".encode(name)
        for name, mark in (("utf-16", ""), ("utf-16-le", ""), ("utf-16-be", "\ufeff"), ("utf-32", ""))
    },
}


@pytest.mark.parametrize(("name", "data"), UNREADABLE.items(), ids=UNREADABLE)
@pytest.mark.parametrize("words", [(), ("--separate",), ("--allow-no-engine",), ("--separate", "--allow-no-engine")])
@pytest.mark.parametrize("folder", [False, True])
def test_a_file_of_which_nothing_is_read_is_never_clean(
    run: Run, folder: bool, words: tuple[str, ...], name: str, data: bytes
) -> None:
    write(**{"ok.sh": RIGHT})
    Path(name).write_bytes(data)
    done = run(*((".",) if folder else ("ok.sh", name)), *words, "--format", "concise")
    assert done.code == 1 and "PD010" in done.out and "nothing in it was checked" in done.out, done.out
    assert ("UTF-16" in done.out) == name.startswith("utf-16")


@pytest.mark.parametrize("words", [(), ("--separate", "--allow-no-engine")])
def test_a_packed_file_that_is_named_is_never_clean(run: Run, words: tuple[str, ...]) -> None:
    Path("a.sh").write_bytes(gzip.compress(b"vllm serve m --bad 1\n" * 50, mtime=0))
    write(**{"ok.sh": RIGHT})
    done = run("ok.sh", "a.sh", *words, "--format", "concise")
    assert done.code == 1 and "PD010" in done.out and "nothing in it was checked" in done.out
    assert "tr -d" not in run("a.sh").out


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\nsubprocess.run(['vllm', 'serve', 'm', '--bad'])\nprint 1\n",
        "from vllm import LLM\nLLM('m', bad=1)\nx = (\n",
        "import os\nos.system('vllm serve m --bad 1')\nif True\n",
    ],
)
def test_python_that_is_not_parsed_and_starts_an_engine_is_never_clean(run: Run, text: str) -> None:
    write(**{"a.py": text, "ok.sh": RIGHT, "other.py": "print 1\n", "uses.py": "import vllm\nprint 1\n"})
    for words in (("a.py", "--separate", "--allow-no-engine"), (".",), (".", "--allow-no-engine")):
        done = run(*words, "--format", "concise")
        assert done.code == 1 and done.out.count("\n") == 1 and "a.py:" in done.out and "not valid Python" in done.out


@pytest.mark.parametrize("encoding", ["latin-1", "gb18030", "shift_jis"])
def test_a_file_that_is_not_utf_8_is_read_to_its_end(run: Run, encoding: str) -> None:
    remark = "caf\xe9" if encoding == "latin-1" else "起動"
    Path("a.sh").write_bytes(f"# {remark}\nvllm serve m --bad 1  # {remark}\n".encode(encoding))
    for words in (("a.sh",), (".",), ("a.sh", "--separate", "--allow-no-engine")):
        assert "PD004" in run(*words, "--format", "concise").out
    assert "not valid UTF-8 and is not fixed" in run("a.sh", "--fix").err


@pytest.mark.parametrize(
    ("name", "text", "said", "line"),
    [
        ("x.toml", "a = 1 # vllm\n", "of TOML files, only commands as in a shell are read", 1),
        ("nginx.conf", "# vllm\n", "of INI files other than supervisord's, only commands", 1),
        ("empty.sh", "\n", "it is empty", 1),
        ("i.sh", "echo\npip install vllm\n", "“vllm” appears here in a form that is not supported", 2),
        ("n.sh", "echo\n", "no command starts vllm serve", 1),
        ("b.sh", "\0\1", "this is not a text file", 1),
    ],
)  # fmt: skip
def test_what_is_not_read_and_why(run: Run, name: str, text: str, said: str, line: int) -> None:
    write(**{name: text})
    done = run(name, "--format", "concise")
    assert done.code == 1 and said in done.out and f"{name}:{line}:" in done.out, done.out


def test_verbose_counts_what_was_unknown_and_who_could_not_look(run: Run) -> None:
    write(**{"a/x.sh": 'vllm serve "$1" --port "$PORT" --max-num-seqs 8\n', "a/y.sh": RIGHT, "a/z.go": "x\n"})
    done = run("a", "-v")
    assert "3 files seen, 2 checked; other kinds of files 1" in done.err
    assert "a/x.sh: 2 values unknown (line in brackets): model (1), --port (1); " in done.err
    assert "PD404" in done.err.split("a/x.sh: ")[1].split("\n")[0]
    assert "use --host or --host-facts" in done.err and "only one side was given" in done.err
    assert run("a").err == ""
    assert run("a", "-v", "--jobs", "2").err == done.err
    assert "2 个值未知" in run("a", "-v", "--lang", "zh").err


def test_json_that_only_speaks_of_engines(run: Run) -> None:
    write(
        **{
            "schema.json": '{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "vllm serve what"}',
            "a.sh": "vllm serve m --additional-config '{\"vllm serve x y\": 1,}'\n",
        }
    )
    for form in ("json", "gitlab"):
        run("a.sh", "--format", form, "--output", f"{form}.json")
    run(".", "--baseline", "base.json", "--write-baseline")
    assert len(list(Path().glob("*.json"))) == 4
    assert {place.split(":")[0] for place in places(run(".", "--format", "concise"))} == {"a.sh"}


def test_fixes_of_a_folder(run: Run) -> None:
    text = "vllm serve m --additional-config '{\"a\": 1,}'\n"
    write(**{"a/x.sh": text, "a/b/y.sh": text, "a/z.sh": RIGHT})
    assert run("a", "--diff").out.count("+++ ") == 2
    run("a", "--fix")
    assert ",}" not in Path("a/x.sh").read_text() + Path("a/b/y.sh").read_text()
