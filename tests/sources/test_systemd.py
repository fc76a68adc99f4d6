"""Units of systemd: words, variables, specifiers, drop-ins and files of variables, as its manual says they are read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from reading import at, deployment, faults, flag, launch, value, variables

from pd_launch.launcher.sources.forms.env_file import read_env_file
from pd_launch.launcher.sources.forms.systemd_words import command_lines, split
from pd_launch.schemas.core.values import HOLE, SourceFile, Text

SERVE = "/usr/bin/vllm serve m"


def unit(body: str, name: str = "u.service", **more: str) -> Any:
    node, _ = launch_with(body, name, **more)
    return node


def launch_with(body: str, name: str = "u.service", **more: str) -> Any:
    found = deployment({name: f"[Unit]\nDescription=d\n[Service]\n{body}\n", **more})
    assert len(found.nodes) == 1, found.nodes
    return found.nodes[0], found


def text(written: str) -> Text:
    return Text.verbatim(SourceFile("u", written), 0, len(written))


def known(node: Any, name: str) -> Any:
    """Return an argument's value; None where it is unknown."""
    found = flag(node, name)
    return found.value if found.known else None


@pytest.mark.parametrize(
    ("written", "words"),
    [
        # the examples of systemd.service(5) and systemd.exec(5)
        ("\"ONE=one\" 'TWO=two two'", ["ONE=one", "TWO=two two"]),
        ("ONE='one' \"TWO='two two' too\" THREE=", ["ONE=one", "TWO='two two' too", "THREE="]),
        ('"VAR1=word1 word2" VAR2=word3 "VAR3=$word 5 6"', ["VAR1=word1 word2", "VAR2=word3", "VAR3=$word 5 6"]),
        (r"""a\x20b \s \u00e9 \101 '\"' "\'" """, ["a b", " ", "é", "A", '"', "'"]),
        (r"\q \\ a\ b", [r"\q", "\\", r"a\ b"]),
        ("a'b c'd \"\" e", ["ab cd", "", "e"]),
    ],
)
def test_quotes_and_escapes(written: str, words: list[str]) -> None:
    found = split(text(written))
    assert [word.value for word in found.words] == words and found.unclosed == -1


def test_semicolons_part_commands() -> None:
    lines = list(command_lines(text(r'echo one ; echo "two two"')))
    assert [[word.value for word in line.words] for line in lines] == [["echo", "one"], ["echo", "two two"]]
    (line,) = command_lines(text(r'echo / >/dev/null & \; ls a; ";"'))
    assert [word.value for word in line.words] == ["echo", "/", ">/dev/null", "&", ";", "ls", "a;", ";"]


def test_a_comment_inside_a_line_that_goes_on() -> None:
    node, found = launch_with(
        f"ExecStart={SERVE} \\\n  # one rank a unit\n; and this\n  --max-num-seqs 8 \\\n  --port 8100\nType=exec"
    )
    assert value(node, "max-num-seqs") == "8" and value(node, "port") == "8100" and not faults(found)
    assert at(found, flag(node, "port").origin) == (8, "8100")


def test_a_backslash_behind_a_backslash_ends_the_line() -> None:
    node = unit(f"ExecStart={SERVE} --served-model-name a\\\\\n--port 8100")
    assert value(node, "served-model-name") == "a\\" and node.arg("port") is None


def test_braces_are_one_word_and_a_bare_variable_is_split() -> None:
    node = unit(
        "Environment=TP=8 'MORE=--port 8100 --served-model-name \"a b\"' NONE=\n"
        f"ExecStart={SERVE} --tensor-parallel-size ${{TP}} $MORE $NONE --seed x${{TP}}y --host $$TP%%"
    )
    assert value(node, "tensor-parallel-size") == "8" and value(node, "port") == "8100"
    assert value(node, "served-model-name") == "a b" and value(node, "seed") == "x8y" and value(node, "host") == "$TP%"


def test_a_variable_in_the_middle_of_a_word_needs_braces() -> None:
    node = unit(f"Environment=TP=8\nExecStart={SERVE} --seed x$TP --host ${{TP:-3}}")
    assert value(node, "seed") == "x$TP" and value(node, "host") == "${TP:-3}"


def test_a_variable_that_is_set_elsewhere_is_unknown() -> None:
    node, found = launch_with(f"ExecStart={SERVE} --tensor-parallel-size ${{TP}} --port 8100 $MORE")
    assert known(node, "tensor-parallel-size") is None and value(node, "port") == "8100" and node.partial
    assert not faults(found)


def test_the_settings_of_variables_keep_their_dollar_signs() -> None:
    node = unit(f"Environment=A=$$x B=50%% C=%t/x\nExecStart={SERVE}")
    assert variables(node) == {"A": "$$x", "B": "50%", "C": None}


def test_variables_that_are_taken_back() -> None:
    body = "Environment=A=1\nEnvironment=\nEnvironment=B=2 C=3 D=4\nUnsetEnvironment=B C=9 D=4\nPassEnvironment=E\n"
    assert variables(unit(f"{body}ExecStart={SERVE}")) == {"C": "3", "E": None}


def test_commands_that_are_taken_back() -> None:
    node = unit(f"ExecStart={SERVE} --port 1\nExecStart=\nExecStart={SERVE} --port 2")
    assert value(node, "port") == "2"


@pytest.mark.parametrize("prefix", ["", "-", "+", "!", "!!", "-+"])
def test_prefixes(prefix: str) -> None:
    assert value(unit(f"ExecStart={prefix}{SERVE} --port 8100"), "port") == "8100"


def test_a_program_that_is_told_its_name() -> None:
    node = unit("ExecStart=-@/usr/bin/vllm vllm serve m --port 8100")
    assert node.model.value == "m" and value(node, "port") == "8100"


def test_a_command_whose_variables_stay() -> None:
    node = unit(f"Environment=A=8\nExecStart=:{SERVE} --seed ${{A}} --host $$A")
    assert value(node, "seed") == "${A}" and value(node, "host") == "$$A"


@pytest.mark.parametrize(
    ("name", "rank", "prefix"),
    [
        ("decode@.service", None, "decode"),
        ("decode@3.service", "3", "decode"),
        ("decode.service", None, "decode"),
        ("unit", None, None),
    ],
)
def test_specifiers(name: str, rank: str | None, prefix: str | None) -> None:
    node = unit(f"ExecStart={SERVE} --seed %i --host %p --port %h --download-dir %Q", name)
    assert known(node, "seed") == rank and known(node, "host") == prefix
    assert known(node, "port") is None and value(node, "download-dir") == "%Q"


def test_a_shell_gets_what_systemd_leaves() -> None:
    node = unit("Environment=A=8\nExecStart=/bin/bash -c 'vllm serve m --max-num-seqs $$A --port ${A}0'")
    assert value(node, "max-num-seqs") == "8" and value(node, "port") == "80"


def test_a_quote_that_is_never_closed() -> None:
    found = deployment({"u.service": f"[Service]\nExecStart={SERVE} --host 'a\n"})
    assert "shell" in faults(found)


def test_only_the_section_of_the_service_counts() -> None:
    node = unit(f"ExecStart={SERVE}\n[Install]\nEnvironment=A=1\n[X-Own]\nExecStart={SERVE} --port 1")
    assert variables(node) == {} and node.arg("port") is None


def test_drop_ins_change_their_unit() -> None:
    files = {
        "/s/decode@1.service": f"[Service]\nEnvironment=A=1 B=1\nExecStart={SERVE} --port 1\n",
        "/s/decode@1.service.d/20.conf": "[Service]\nEnvironment=A=20\n",
        "/s/decode@.service.d/10.conf": f"[Service]\nEnvironment=A=10\nExecStart=\nExecStart={SERVE} --port %i\n",
        "/s/other.service.d/99.conf": "[Service]\nEnvironment=A=99\n",
    }
    for order in (list(files), list(files)[::-1]):
        found = deployment({name: files[name] for name in order})
        (node,) = found.nodes
        assert variables(node) == {"A": "20", "B": "1"} and value(node, "port") == "1"
        assert at(found, node.env["A"].value.origin) == (2, "20")


def test_a_file_of_variables_that_is_given_too() -> None:
    body = f"Environment=TP=1 A=1\nEnvironmentFile=-/etc/pd/decode.env\nExecStart={SERVE} --tensor-parallel-size $TP"
    node, found = launch_with(body, **{"decode.env": "# sizes\nTP=8\nB=2\n"})
    assert value(node, "tensor-parallel-size") == "8" and variables(node) == {"TP": "8", "A": "1", "B": "2"}
    assert at(found, node.env["TP"].value.origin) == (2, "8")


def test_a_file_of_variables_beside_the_unit(tmp_path: Path) -> None:
    (tmp_path / "decode.env").write_text("TP=8\n")
    body = f"[Service]\nEnvironmentFile={tmp_path}/decode.env\nExecStart={SERVE} --tensor-parallel-size ${{TP}}\n"
    node, _ = launch(body, str(tmp_path / "u.service"))
    assert value(node, "tensor-parallel-size") == "8"


def test_a_file_of_variables_that_is_not_there() -> None:
    node, found = launch_with(f"EnvironmentFile=/etc/pd/none.env\nExecStart={SERVE} --tensor-parallel-size ${{TP}}")
    assert known(node, "tensor-parallel-size") is None and not faults(found)


@pytest.mark.parametrize(
    ("written", "pairs"),
    [
        ("A=1\nB = 2 \n#C=3\n;D=4\nE\n", {"A": "1", "B": "2"}),
        ('A=\'a "b\'\nB="a \\"b\\$ \\n"\nC=a"b c"\n', {"A": 'a "b', "B": 'a "b$ \\n', "C": 'a"b c"'}),
        ("A=a\\\nb\nB='x\ny'\nC=\nD=$A\r\n", {"A": "ab", "B": "x\ny", "C": "", "D": "$A"}),
        ("\ufeffA=1\nexport B=2\nC='a'\"b\"", {"A": "1", "C": "ab"}),
    ],
)
def test_files_of_variables(written: str, pairs: dict[str, str]) -> None:
    source = SourceFile("e.env", written)
    assert {name.value: value.value for name, value in read_env_file(source)} == pairs
    for name, found in read_env_file(source):
        assert source.text[name.spots[0] : name.spots[-1]] == name.value
        assert found.spots[0] <= found.spots[-1] <= len(written)


def test_what_is_filled_into_a_unit_is_unknown() -> None:
    node, found = launch_with(
        f"Environment=A={{{{ a }}}}\nExecStart={SERVE} --port {{{{ port | default(1) }}}} --seed 1"
    )
    assert known(node, "port") is None and value(node, "seed") == "1" and variables(node) == {"A": None}
    assert not faults(found)


def test_hostile_units_end() -> None:
    for body in ("\\\n" * 20_000, "'" * 20_001, "$A " * 5_000, "%" * 50_000, "; " * 20_000, "\ufeff[" * 1000):
        deployment({"u.service": f"[Service]\nEnvironment=A={HOLE}\nExecStart=/x {body}\n"})


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("-@/no/such/a b", "/no/such/a"),
        ("+/no/such/b \\\n# c\n  d", "/no/such/b"),
        ("'/no/such/c d' e", "/no/such/c d"),
        ("/no/such/d\\x20e", "/no/such/d e"),
        ("/no/such/%p", "/no/such/asked"),
    ],
)
def test_systemd_starts_the_same_program(command: str, program: str, tmp_path: Path) -> None:
    path = tmp_path / "asked.service"
    path.write_text(f"[Service]\nExecStart={command}\n")
    run = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, timeout=60)
    if "is not executable" not in run.stderr:
        pytest.skip(f"it says nothing of the program: {run.stderr[:200]}")
    assert f"Command {program} is not executable" in run.stderr
