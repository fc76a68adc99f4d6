"""Every report form is what its readers expect: SARIF by the OASIS schema, JSON by ours, JUnit, annotations."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli
from pd_launch.launcher.report.github import github
from pd_launch.launcher.report.sarif import uri
from pd_launch.schemas.finding import Finding

HERE = Path(__file__).parent
SARIF = json.loads((HERE / "data" / "sarif-2.1.0.schema.json").read_text("utf-8"))
REPORT = json.loads((HERE.parent / "docs" / "schemas" / "report.schema.json").read_text("utf-8"))
FAULTY = """vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true,}' \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_both", "kv_port": 36000}'
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "decode.sh"
    path.write_text(FAULTY)
    return path


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    arguments = ["check", *words]
    monkeypatch.setattr("sys.argv", ["pd-launch", *arguments])
    return CliRunner().invoke(cli, arguments)


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "cases" / "cases.jsonl").read_text("utf-8").splitlines()]


def test_sarif_follows_the_oasis_schema(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, str(script), "--format", "sarif", "--target", "0.25.1rc1")
    log = json.loads(result.output)
    jsonschema.validate(log, SARIF)
    found = log["runs"][0]["results"]
    codes = {entry["ruleId"] for entry in found}
    assert {"PD001", "PD102"} <= codes
    comma = next(entry for entry in found if entry["ruleId"] == "PD001")
    region = comma["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (1, FAULTY.index(",}") + 1)
    replacement = comma["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement["insertedContent"]["text"] == ""
    role = next(entry for entry in found if entry["ruleId"] == "PD102")
    assert role["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_every_case_makes_valid_sarif_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for row in rows()[::4]:
        paths = []
        for name, text in row["files"].items():
            path = tmp_path / name
            path.write_text(text)
            paths.append(str(path))
        target = ["--target", row["target"]] if row["target"] else []
        jsonschema.validate(json.loads(run(monkeypatch, *paths, *target, "--format", "sarif").output), SARIF)
        jsonschema.validate(json.loads(run(monkeypatch, *paths, *target, "--format", "json").output), REPORT)


def test_junit_has_a_case_for_each_finding(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (str(script), "--target", "0.25.1rc1")
    findings = json.loads(run(monkeypatch, *words, "--format", "json").output)["findings"]
    tree = ElementTree.fromstring(run(monkeypatch, *words, "--format", "junit").output)
    cases = tree.findall("./testsuite/testcase")
    assert len(cases) == len(findings) == int(tree.attrib["tests"])
    failures = [case for case in cases if case.find("failure") is not None]
    assert len(failures) == sum(f["severity"] == "error" for f in findings) == int(tree.attrib["failures"])


@pytest.mark.parametrize(("level", "counted"), [("error", 1), ("warning", 2), ("info", 3)])
def test_junit_fails_where_the_status_does(
    level: str, counted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pd-launch.toml").write_text('[severity]\nPD004 = "warning"\nPD007 = "info"\n')
    path = tmp_path / "a.sh"
    path.write_text("vllm serve m --portt 1 --port 70000 --additional-config '{,}'\n")
    words = (str(path), "--target", "vllm==0.32.0", "--select", "PD001,PD004,PD007", "--fail-on", level)
    done = run(monkeypatch, *words, "--format", "junit")
    tree = ElementTree.fromstring(done.stdout)
    assert (tree.attrib["tests"], tree.attrib["failures"], done.exit_code) == ("3", str(counted), 1)
    assert len(tree.findall(".//failure")) == counted and len(tree.findall(".//system-out")) == 3 - counted
    words = (str(path), "--target", "vllm==0.32.0", "--select", "PD004", "--fail-on", "error")
    done = run(monkeypatch, *words, "--format", "junit")
    assert done.exit_code == 0 and ElementTree.fromstring(done.stdout).attrib["failures"] == "0"


def test_gitlab_has_the_documented_fields(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", str(script.parent.parent))
    words = (str(script), "--target", "0.25.1rc1")
    findings = json.loads(run(monkeypatch, *words, "--format", "json").stdout)["findings"]
    entries = json.loads(run(monkeypatch, *words, "--format", "gitlab").stdout)
    assert len(entries) == len(findings) > 1
    for entry, found in zip(entries, findings, strict=True):
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["check_name"].startswith(found["code"]) and entry["description"] == found["message"]
        assert entry["location"]["path"] == f"{script.parent.name}/{script.name}"
        assert entry["location"]["lines"]["begin"] == found["line"]
    prints = [entry["fingerprint"] for entry in entries]
    assert len(set(prints)) == len(prints)
    script.write_text(f"# more\n\n{script.read_text()}")
    later = json.loads(run(monkeypatch, *words, "--format", "gitlab").stdout)
    assert [entry["fingerprint"] for entry in later] == prints
    assert [entry["location"]["lines"] for entry in later] != [entry["location"]["lines"] for entry in entries]


def test_gitlab_of_nothing_is_an_empty_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clean.sh"
    path.write_text("vllm serve /models/m --port 8100\n")
    assert json.loads(run(monkeypatch, str(path), "--target", "vllm==0.32.0", "--format", "gitlab").stdout) == []


def test_junit_of_a_clean_file_has_one_passing_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clean.sh"
    path.write_text("vllm serve /models/m --port 8100\n")
    tree = ElementTree.fromstring(run(monkeypatch, str(path), "--target", "vllm==0.32.0", "--format", "junit").output)
    assert [case.attrib["classname"] for case in tree.iter("testcase")] == ["clean"]


def finding(message: str, help_text: str, file: str = "a,b:c.sh") -> Finding:
    return Finding(
        code="PD001",
        name="json-syntax",
        severity="error",
        confidence="high",
        message=message,
        why="",
        help=help_text,
        file=file,
        line=3,
        column=5,
        end_line=3,
        end_column=9,
    )


def test_annotations_escape_what_the_runner_reads() -> None:
    line = github([finding("100 % of it\x1b is wrong", "write 0 %")]).splitlines(True)[0]
    assert line.startswith("::error title=PD001 json-syntax,file=a%2Cb%3Ac.sh,line=3,endLine=3,col=5,endColumn=9::")
    assert line.endswith("::100 %25 of it� is wrong%0Awrite 0 %25\n")
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "expected"),
    [("a b.sh", "a%20b.sh"), ("<stdin>", "stdin"), ("<command line>", "command-line"), ("/x/y.sh", "file:///x/y.sh")],
)
def test_places_are_uris(file: str, expected: str) -> None:
    assert uri(file) == expected


def test_a_report_goes_to_a_file(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.json"
    result = run(monkeypatch, str(script), "--format", "json", "--output", str(target))
    assert result.output == ""
    assert json.loads(target.read_text("utf-8"))["summary"]["error"] >= 1
    assert result.exit_code == 1
    missing = run(monkeypatch, str(script), "--output", str(tmp_path / "no" / "such"))
    assert missing.exit_code in (1, 2)
    assert "No such file" in missing.output


def test_the_problem_matcher_reads_the_concise_form(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = json.loads((HERE.parent / ".github" / "pd-launch-matcher.json").read_text("utf-8"))
    pattern = matcher["problemMatcher"][0]["pattern"][0]
    lines = run(monkeypatch, str(script), "--format", "concise").stdout.splitlines()
    assert lines
    for line in lines:
        match = re.match(pattern["regexp"], line)
        assert match, line
        assert match[pattern["file"]] == str(script)
        assert match[pattern["line"]].isdigit()
        assert re.fullmatch(r"PD\d{3}", match[pattern["code"]])
