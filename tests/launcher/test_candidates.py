"""An input of unknown release is checked for every release that it may be for; of several known ones for each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.check import candidates
from pd_launch.launcher.check.run import check, run_checks
from pd_launch.launcher.cli import cli
from pd_launch.launcher.rules.registry import FixEdits, Hit, Rule
from pd_launch.launcher.sources.read import Inputs, read, read_texts
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Choice, newest, newest_final, parse_target, ranges, rows
from pd_launch.schemas.core.values import Origin, SourceFile
from pd_launch.schemas.finding import Finding

SERVE = "vllm serve /models/m"


def found(text: str, code: str, name: str = "a.sh", target: str | None = None) -> list[Finding]:
    return [finding for finding in check(read_texts({name: text}, target)) if finding.code == code]


def test_what_only_some_releases_report_is_at_most_a_warning_and_names_them() -> None:
    flag = f"HCCL_BUFFSIZE=1 {SERVE} --enable-batch-sharded-sampling\n"
    (finding,) = found(flag, "PD004")
    assert (finding.severity, finding.releases) == ("warning", ["vllm-ascend up to 0.28.0rc1"])
    (decided,) = found(flag, "PD004", target="vllm-ascend==0.28.0rc1")
    assert (decided.severity, decided.releases) == ("error", ["vllm-ascend 0.28.0rc1"])
    assert found(flag, "PD004", target="vllm-ascend==0.30.0rc2") == []


def test_what_all_releases_report_stands() -> None:
    (finding,) = found(f"{SERVE} --no-such-flag\n", "PD004")
    assert (finding.severity, finding.releases) == ("error", ["vllm-ascend", "vLLM"])


def test_what_does_not_ask_for_the_release_names_none() -> None:
    (finding,) = found(f"{SERVE} --kv-transfer-config '{{'\n", "PD001")
    assert (finding.severity, finding.releases) == ("error", [])


def test_a_family_that_never_reports_it_makes_it_a_note() -> None:
    config = '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {}}'
    command = f"{SERVE} --kv-transfer-config '{config}' --additional-config '{{\"no_such_key\": 1}}'\n"
    every = {f.code: f for f in check(read_texts({"a.sh": command})) if f.releases and "vLLM" not in str(f.releases)}
    assert every and {f.severity for f in every.values()} == {"info"}
    ascend = [f for f in check(read_texts({"a.sh": f"HCCL_BUFFSIZE=200 {command}"})) if f.code in every]
    assert ascend and all(f.severity != "info" for f in ascend)


def test_what_only_old_releases_report_is_not_looked_for() -> None:
    """``--attention-config`` is no flag of 0.18, and is one of the newest releases of both families."""
    old = found(f"{SERVE} --enable-batch-sharded-sampling\n", "PD004", target="vllm==0.18.0")
    assert old
    assert found(f"CUDA_VISIBLE_DEVICES=0 {SERVE} --enable-batch-sharded-sampling\n", "PD004") == []


class Asked:
    """A rule that reports what it is told to for each release, and counts how often it is run."""

    def __init__(self, **reports: Any) -> None:
        self.reports = reports
        self.runs: Counter[str] = Counter()

    def rule(self, asks: bool = True) -> Rule:
        def function(deployment: Deployment) -> Iterator[Hit]:
            name = str(deployment.target) if asks else "any"
            self.runs[name] += 1
            yield from self.reports["hits"](deployment) if asks else ()

        return Rule("PD999", "of-the-test", "error", "high", "C", "deployment", function, "")


PLACE = Origin("a.sh", 1, 1, 1, 2)


def hit(fix: str | None = None, severity: Any = None, safe: bool = True) -> Hit:
    edits = None if fix is None else FixEdits(Msg("m", "m"), ((PLACE, fix),), safe)
    return Hit(PLACE, Msg("it", "it"), severity=severity, fix=edits)


def unknown(*families: bool) -> Deployment:
    return Deployment(newest(families[0]), choice=Choice(None, families))


def merged(reports: Any, *families: bool) -> Hit:
    asked = Asked(hits=reports)
    (only,) = candidates.hits_of(asked.rule(), unknown(*(families or (True, False))))
    return only


def test_the_lowest_severity_counts() -> None:
    def reports(deployment: Deployment) -> Iterator[Hit]:
        yield hit(severity="warning" if deployment.target == newest(True) else "error")

    assert merged(reports, True).severity == "warning"


def test_a_fix_is_safe_only_where_all_releases_write_the_same() -> None:
    def text(deployment: Deployment) -> str | None:
        return {"0.18.0": old, "0.30.0": new}.get(deployment.target.vllm, new)

    old = new = "x"
    assert merged(lambda d: [hit(text(d))]).fix == hit("x").fix
    old = "y"
    assert merged(lambda d: [hit(text(d))]).fix is None
    old = None  # type: ignore[assignment]
    fix = merged(lambda d: [hit(text(d))]).fix
    assert fix is not None and not fix.safe
    fix = merged(lambda d: [hit("x")] if d.target.vllm != "0.18.0" else []).fix
    assert fix is not None and not fix.safe


def test_a_rule_without_findings_is_run_for_the_newest_releases_alone() -> None:
    asked = Asked(hits=lambda d: [])
    assert not list(candidates.hits_of(asked.rule(), unknown(True, False)))
    leads = [newest(True), newest_final(True), newest(False)]
    assert asked.runs == Counter({str(target): 1 for target in leads})
    other = Asked(hits=lambda d: [])
    assert not list(candidates.hits_of(other.rule(asks=False), unknown(True, False)))
    assert other.runs == Counter({"any": 1})


def test_a_rule_with_findings_is_run_once_for_each_release() -> None:
    asked = Asked(hits=lambda d: [hit(), replace(hit(), origin=Origin("a.sh", 2, 1, 2, 2))])
    assert len(list(candidates.hits_of(asked.rule(), unknown(True, False)))) == 2
    assert set(asked.runs.values()) == {1} and len(asked.runs) == len(rows(True)) + len(rows(False))


def test_other_releases_are_asked_of_the_engines_alone_that_something_was_found_on() -> None:
    runs: Counter[str] = Counter()

    def function(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
        port = str(node.number("port", 8000))
        runs[port] += 1
        if deployment.target and port == "8001":
            yield Hit(node.origin, Msg("it", "it"))

    rule = Rule("PD999", "of-the-test", "error", "high", "C", "node", function, "")
    (deployment,) = read_texts({"a.sh": "".join(f"{SERVE} --port {port}\n" for port in range(8000, 8003))})
    assert len(list(candidates.hits_of(rule, deployment))) == 1
    assert runs == {"8000": 3, "8001": len(rows(True)) + len(rows(False)), "8002": 3}


def test_what_many_engines_share_is_compared_once() -> None:
    asked = Asked(hits=lambda d: [hit() for _ in range(384)])
    assert len(list(candidates.hits_of(asked.rule(), unknown(True, False)))) == 1


def engine(name: str, image: str, more: str = "", port: int = 8000, role: str = "kv_consumer") -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
  - name: {name}
    image: {image}
    args: [--model, /models/m, --port, "{port}", {more}]
    command: [vllm, serve]
"""


NEW, OLD = "vllm/vllm-openai:v0.33.0", "vllm/vllm-openai:v0.18.0"
FLAG = "--enable-batch-sharded-sampling"


def test_each_engine_is_checked_for_its_own_release() -> None:
    text = f"{engine('one', OLD, FLAG)}---\n{engine('two', NEW, FLAG)}"
    (finding,) = found(text, "PD004", "pods.yaml")
    assert (finding.line, finding.severity, finding.releases) == (8, "error", ["vLLM 0.18.0"])
    (deployment,) = read_texts({"pods.yaml": text})
    assert [str(node.choice and node.choice.decided) for node in deployment.nodes] == ["vLLM 0.18.0", "vLLM 0.33.0"]


def pair(first: str, second: str) -> str:
    config = '"--kv-transfer-config", \'{"kv_connector": "NixlConnector", "kv_role": "%s"}\''
    sides = (("prefill", first, "64", "kv_producer"), ("decode", second, "128", "kv_consumer"))
    return "---\n".join(
        engine(name, image, f'--block-size, "{size}", {config % role}') for name, image, size, role in sides
    )


def test_what_is_between_engines_of_different_releases_is_found_once() -> None:
    (same,) = found(pair(NEW, NEW), "PD604", "pods.yaml")
    (other,) = found(pair(OLD, NEW), "PD604", "pods.yaml")
    assert (other.line, other.severity, other.message) == (same.line, same.severity, same.message)
    assert other.releases == ["vLLM 0.18.0", "vLLM 0.33.0"]


def test_beside_an_engine_of_unknown_release_a_pair_has_the_lowest_severity_of_its_releases() -> None:
    """vllm-ascend alone makes this an error; nothing says that the prefill side is for it."""
    config = '{"kv_connector": "NixlConnector", "kv_role": "%s"}'
    texts = {
        "p.sh": f"{SERVE} --block-size 16 --kv-transfer-config '{config % 'kv_producer'}'\n",
        "d.sh": f"# pd-launch: target vllm==0.29.0\n{SERVE} --block-size 32 --kv-transfer-config "
        f"'{config % 'kv_consumer'}'\n",
    }
    (decided,) = [f for f in check(read_texts(texts, "vllm==0.29.0")) if f.code == "PD604"]
    (finding,) = [f for f in check(read_texts(texts)) if f.code == "PD604"]
    assert (finding.severity, decided.severity) == ("warning", "warning")
    assert finding.releases == ["vllm-ascend", "vLLM"]


def test_a_fix_between_engines_of_several_releases_is_one_that_each_of_them_writes() -> None:
    nodes = read_texts({"a.yaml": pair(OLD, NEW)})[0]

    def only(new: str | None, safe: bool = True) -> FixEdits | None:
        def reports(deployment: Deployment) -> Iterator[Hit]:
            if len(deployment.nodes) == 2:
                yield hit("x") if deployment.target.vllm == "0.18.0" else hit(new, safe=safe)

        (one,) = candidates.hits_of(Asked(hits=reports).rule(), nodes)
        return one.fix

    assert only("x") == hit("x").fix
    assert only("y") is None
    for unsure in (only("x", safe=False), only(None)):
        assert unsure is not None and not unsure.safe


SCRIPT = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n  run.sh: |\n    vllm serve /m --kv-transfer-config "
    '\'{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer"}\'\n'
)


def run_by(*releases: str) -> dict[str, str]:
    """Return a script of a ConfigMap, and pods of these releases that run it."""
    pods = [
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  volumes: [{name: s, configMap: {name: s}}]\n"
        "  containers:\n  - name: a\n    command: [bash, /s/run.sh]\n    volumeMounts: [{name: s, mountPath: /s}]\n"
        f"    image: quay.io/ascend/vllm-ascend:v{release}\n"
        for release in releases
    ]
    return {"s.yaml": SCRIPT + "".join(pods)}


def test_a_place_that_engines_of_several_releases_share_is_found_once() -> None:
    findings = check(read_texts(run_by("0.27.1rc1", "0.28.0rc1", "0.30.0rc1")))
    in_script = [f for f in findings if f.line == 6]
    assert {f.code: f.releases for f in in_script if f.code in ("PD104", "PD201")} == {
        "PD104": ["vllm-ascend 0.27.1rc1", "vllm-ascend 0.28.0rc1", "vllm-ascend 0.30.0rc1"],
        "PD201": ["vllm-ascend 0.28.0rc1", "vllm-ascend 0.30.0rc1"],
    }
    assert [f.code for f in in_script if f.code == "PD201"] == ["PD201"]
    budgets = [f.message for f in in_script if f.code == "PD302"]
    assert len(budgets) == len(set(budgets)) == 2, "defaults differ, and each is said"


def test_a_fix_for_one_engine_does_not_break_another_that_runs_the_same_text(tmp_path: Path) -> None:
    """Both releases have one finding at that place before and behind it: counted by engine it looked mended."""
    file = tmp_path / "s.yaml"
    file.write_text(run_by("0.27.1rc1", "0.28.0rc1", "0.30.0rc1")["s.yaml"])
    before = file.read_text()
    result = CliRunner().invoke(cli, ["check", str(file), "--select", "PD201", "--fix", "--unsafe-fixes"])
    assert file.read_text() == before and "would cause PD201" in result.output
    file.write_text(run_by("0.28.0rc1", "0.30.0rc1")["s.yaml"])
    CliRunner().invoke(cli, ["check", str(file), "--select", "PD201", "--fix", "--unsafe-fixes"])
    assert "PreemptOffloadConnector" in file.read_text()


PROFILE = "version: 1\nhardware: a3\nmodel: /models/m\ndecode: {offload: {per_rank: 1GiB}}\n"


def test_a_profile_without_a_target_is_rendered_for_each_release() -> None:
    (deployment,) = read_texts({"p.yaml": PROFILE})
    assert deployment.choice == Choice(None, (True,)) and deployment.renderer is not None
    names = {str(target): str(deployment.under(target).nodes[0].kv_transfer) for target in deployment.choice.leads}
    assert "Preempt" in names["vllm-ascend 0.30.0rc2"] and "Recompute" in names["vllm-ascend 0.23.0.post1"]
    assert all(f.releases for f in check([deployment]))


@pytest.mark.parametrize(("hardware", "target"), [("a3", "vllm==0.32.0"), ("cuda", "0.25.1rc1")])
def test_a_target_that_is_not_for_the_hardware_is_said(hardware: str, target: str) -> None:
    (deployment,) = read_texts({"p.yaml": f'{PROFILE.replace("a3", hardware)}target: "{target}"\n'})
    assert deployment.choice is not None and deployment.choice.decided is None
    (finding,) = [f for f in check([deployment]) if f.code == "PD902"]
    assert (finding.line, finding.severity) == (5, "warning")


def test_a_launch_takes_the_target_of_the_configuration_file(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROFILE)
    (tmp_path / "pd-launch.toml").write_text('target = "0.27.1rc1"\n')
    done = CliRunner().invoke(cli, ["decode", "--profile", str(tmp_path / "p.yaml"), "--dry-run"])
    assert json.loads(done.stdout)["target"]["from"] == "config" and done.stderr == ""
    (tmp_path / "pd-launch.toml").write_text("target = 1\n")
    assert CliRunner().invoke(cli, ["decode", "--profile", str(tmp_path / "p.yaml"), "--dry-run"]).exit_code == 1


def test_a_comment_that_silences_an_old_release_is_used() -> None:
    def unused(text: str) -> list[Finding]:
        return found(text, "PD013")

    old = f"CUDA_VISIBLE_DEVICES=0 {SERVE} {FLAG} # pd-launch: ignore[PD004]\n"
    assert unused(old) == []
    assert unused(f"# pd-launch: target vllm==0.33.0\n{old}")
    assert unused(old.replace(FLAG, ""))


@pytest.mark.parametrize(
    ("text", "config", "expected"),
    [
        (SERVE, None, "unknown"),
        (SERVE, "vllm==0.31.0", "config"),
        (f"# pd-launch: target vllm==0.30.0\n{SERVE}", "vllm==0.31.0", "comment"),
        (f"pip install vllm==0.29.0\n{SERVE}", None, "requirement"),
        (f"pip install vllm==0.29.0\n{SERVE}", "vllm==0.31.0", "config"),
        (f"HCCL_BUFFSIZE=200 {SERVE}", "vllm==0.31.0", "unknown"),
    ],
)
def test_who_decides(text: str, config: str | None, expected: str) -> None:
    given = parse_target(config, "config") if config else None
    (deployment,) = read(Inputs([SourceFile("a.sh", text)], config=given))
    choice = deployment.choice
    assert choice is not None
    assert (choice.decided.decided_by if choice.decided else "unknown") == expected


def test_versions_of_the_host_decide_last(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(f"{SERVE}\n")
    (tmp_path / "b.sh").write_text(f"pip install vllm==0.29.0\n{SERVE}\n")
    (tmp_path / "f.json").write_text('{"vllm": "0.31.0"}')
    for name, expected in (("a.sh", ("0.31.0", "installed")), ("b.sh", ("0.29.0", "requirement"))):
        words = ["check", str(tmp_path / name), "--host-facts", str(tmp_path / "f.json"), "--format", "json"]
        report = json.loads(CliRunner().invoke(cli, words).stdout)
        assert (report["target"]["vllm"], report["target"]["from"]) == expected


def run(tmp_path: Path, text: str, *options: str, config: str = "", name: str = "a.sh") -> Any:
    (tmp_path / name).write_text(text)
    (tmp_path / "pd-launch.toml").write_text(config)
    return CliRunner().invoke(cli, ["check", str(tmp_path / name), *options])


def test_an_undecided_release_can_be_made_an_error(tmp_path: Path) -> None:
    assert run(tmp_path, f"{SERVE}\n").exit_code == 0
    done = run(tmp_path, f"{SERVE}\n", "--require-target")
    assert done.exit_code == 1 and "error[PD902]" in done.stdout
    assert run(tmp_path, f"{SERVE}\n", config="require-target = true\n").exit_code == 1
    both = PROFILE.replace("decode:", "prefill: {}\ndecode:")
    done = run(tmp_path, both, "--require-target", "--select", "PD902", "--format", "concise", name="p.yaml")
    assert done.exit_code == 1 and done.stdout.count("PD902") == 1
    mixed = f"docker run --shm-size=16g vllm/vllm-openai:v0.31.0 --model m\n{SERVE}\n"  # the image decides for one
    done = run(tmp_path, mixed, "--require-target", "--select", "PD902", "--format", "concise")
    assert done.exit_code == 1 and done.stdout.count("PD902") == 1 and "a.sh:2:" in done.stdout
    named = f'target: "vllm-ascend==0.30.0rc2"\n{PROFILE}'
    assert run(tmp_path, named, "--require-target", "--select", "PD902", name="p.yaml").exit_code == 0
    assert run(tmp_path, f"# pd-launch: target 0.30.0rc2\n{SERVE}\n", "--require-target").exit_code == 0
    assert run(tmp_path, f"{SERVE}\n", config='require-target = "yes"\n').exit_code == 1


def test_a_dry_run_assumes_the_newest_final_release_and_says_so() -> None:
    done = CliRunner().invoke(cli, ["decode", "--profile", "a3-dp2tp8", "--dry-run"])
    plan = json.loads(done.stdout)
    assert plan["target"] == {"vllm_ascend": "0.23.0.post1", "vllm": "0.23.0", "from": "assumed"}
    assert "no release is named" in done.stderr


@pytest.mark.parametrize("form", ["concise", "github", "junit", "sarif", "text"])
def test_every_form_says_the_release_and_who_decided(form: str, tmp_path: Path) -> None:
    done = run(tmp_path, f"# pd-launch: target vllm==0.30.0\n{SERVE}\n", "--format", form)
    assert "vLLM 0.30.0, as a comment says" in done.stdout + done.stderr
    unnamed = run(tmp_path, f"{SERVE}\n", "--format", form)
    assert "vllm-ascend 0.30.0rc2 and 0.23.0.post1, vLLM 0.33.0" in unnamed.stdout + unnamed.stderr


def test_a_report_names_the_release_of_each_file(tmp_path: Path) -> None:
    paths = []
    for name, text in (("a.sh", f"# pd-launch: target vllm==0.30.0\n{SERVE}\n"), ("b.sh", f"{SERVE}\n")):
        (tmp_path / name).write_text(text)
        paths.append(str(tmp_path / name))
    report = json.loads(CliRunner().invoke(cli, ["check", *paths, "--separate", "--format", "json"]).stdout)
    assert report["target"] == {"vllm_ascend": None, "vllm": None, "from": "several"}
    assert [(Path(t["file"]).name, t["vllm"], t["from"]) for t in report["targets"]] == [
        ("a.sh", "0.30.0", "comment"),
        ("b.sh", None, "unknown"),
    ]


def test_releases_as_ranges() -> None:
    ascend, stock = rows(True), rows(False)
    every = [*ascend, *stock]
    assert ranges(every, every) == ("vllm-ascend", "vLLM")
    assert ranges(ascend[-3:], every) == ("vllm-ascend from 0.29.0rc1",)
    assert ranges([ascend[0], *stock[1:3]], every) == ("vllm-ascend 0.18.0", "vLLM 0.18.1 to 0.19.0")
    assert ranges([*ascend[:2], ascend[3]], every) == ("vllm-ascend up to 0.19.1rc1", "vllm-ascend 0.21.0rc1")


def test_node_rules_see_the_whole_deployment_and_their_own_release() -> None:
    seen: list[tuple[str, str, int]] = []

    def function(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
        seen.append((node.label, str(deployment.target), len(deployment.nodes)))
        yield from ()

    rule = Rule("PD999", "of-the-test", "error", "high", "C", "node", function, "")
    (deployment,) = read_texts({"pods.yaml": f"{engine('one', OLD)}---\n{engine('two', NEW, port=9000)}"})
    assert not list(candidates.hits_of(rule, deployment))
    assert [(target, count) for _, target, count in seen] == [("vLLM 0.18.0", 2), ("vLLM 0.33.0", 2)]


def test_an_unused_comment_is_found_beside_engines_of_several_releases() -> None:
    text = f"# pd-launch: ignore[PD406]\n{engine('one', OLD)}---\n{engine('two', NEW, port=9000)}"
    assert len(found(text, "PD013", "pods.yaml")) == 1


def test_cached_results_are_the_same_in_both_languages() -> None:
    checked = run_checks(read_texts({"a.sh": f"{SERVE} {FLAG}\n"}))
    assert [f.releases for f in checked.rendered("zh")] == [f.releases for f in checked.findings]


def test_an_older_release_than_the_tables_know_is_no_ground_for_an_error() -> None:
    text = (
        'vllm serve /m --no-such-flag --kv-transfer-config \'{"kv_connector": "NixlConnector", "kv_role": "kv_bth"}\'\n'
    )
    old, first = (
        {f.code: f.severity for f in check(read_texts({"a.sh": text}, target=f"vllm=={release}"))}
        for release in ("0.9.2", "0.18.0")
    )
    assert (old["PD004"], first["PD004"]) == ("warning", "error")
    assert (old["PD101"], first["PD101"]) == ("error", "error")  # that depends on no release
