"""Which files form a deployment, how a file's form is recognised, and when a call without an engine is a finding."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from reading import at, deployment, faults, flag, launch, value, variables

from pd_launch.launcher.check.run import check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.sources.engine.named import COMMAND_LINE
from pd_launch.launcher.sources.read import Inputs, read, read_texts
from pd_launch.schemas.core.values import SourceFile

PREFILL = 'vllm serve /m --port 1 --kv-transfer-config \'{"kv_role": "kv_producer"}\'\n'
DECODE = 'vllm serve /m --port 2 --kv-transfer-config \'{"kv_role": "kv_consumer"}\'\n'
PROFILE = "version: 1\nname: p\nhardware: cpu\nmodel: /m\ndecode: {parallel: {tensor: 1}}\n"
COMPOSE = "services:\n  decode:\n    image: a\n    command: vllm serve /m\n"
E2E = "deployment:\n  - server_cmd: vllm serve /m\n"
PROXY = "python load_balance_proxy_server_example.py --port 9000 --prefiller-hosts 192.0.2.1 --prefiller-ports 1\n"


def pod(side: str) -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {side}}}\nspec:\n  containers:\n"
        "    - {name: vllm, image: vllm-ascend, command: [vllm, serve, /m]}\n"
    )


def test_scripts_of_one_call_are_one_deployment() -> None:
    found = deployment(
        {"prefill.sh": PREFILL, "decode.sh": DECODE, "p.py": "LLM('m')\n", "d.sh": "docker run i vllm serve /m\n"}
    )
    assert [node.origin.file for node in found.nodes] == ["prefill.sh", "decode.sh", "p.py", "d.sh"]
    assert set(found.sources) == {"prefill.sh", "decode.sh", "p.py", "d.sh"}


def test_separate_files_are_checked_alone() -> None:
    found = read_texts({"prefill.sh": PREFILL, "decode.sh": DECODE, "pod.yaml": pod("decode")}, separate=True)
    assert [list(d.sources) for d in found] == [["prefill.sh"], ["decode.sh"], ["pod.yaml"]]


@pytest.mark.parametrize(("name", "text"), [("p.yaml", PROFILE), ("compose.yaml", COMPOSE), ("e2e.yaml", E2E)])
def test_these_forms_are_deployments_of_their_own(name: str, text: str) -> None:
    found = read_texts({"decode.sh": DECODE, name: text})
    assert sorted(list(d.sources) for d in found) == sorted([["decode.sh"], [name]])
    assert all(d.nodes for d in found)


def test_manifests_of_one_side_are_joined() -> None:
    found = deployment({"p.yaml": pod("prefill"), "d.yaml": pod("decode")})
    assert [node.side for node in found.nodes] == ["prefill", "decode"]


def test_a_manifest_of_both_sides_stands_alone() -> None:
    found = read_texts({"both.yaml": pod("prefill") + "---\n" + pod("decode"), "decode.sh": DECODE})
    assert sorted(sorted(d.sources) for d in found) == [["both.yaml"], ["decode.sh"]]


def test_forms_are_recognised_without_a_name() -> None:
    for text, form in ((PROFILE, "profile"), (COMPOSE, "compose"), (pod("decode"), "manifest")):
        node, _ = launch(text, "input")
        assert node.form == form
    node, _ = launch(DECODE, "input")
    assert node.form == "shell"


def test_a_proxy_beside_engines_is_no_finding() -> None:
    found = deployment({"decode.sh": DECODE, "proxy.sh": PROXY})
    assert not found.faults and [proxy.program for proxy in found.proxies] == ["load_balance_proxy_server_example.py"]
    assert at(found, found.proxies[0].origin) == (1, "load_balance_proxy_server_example.py")
    assert [word.value for word in found.proxies[0].words][:2] == ["--port", "9000"]


SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 1}]}\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("proxy.sh", PROXY),
        ("service.yaml", SERVICE),
        ("notes.txt", "just words\n"),
        ("empty.sh", ""),
        ("run.sh", "docker run -it i bash\n"),
    ],
)
def test_a_call_without_an_engine_is_pd010(name: str, text: str) -> None:
    assert [f.code for f in check(read_texts({name: text}))] == ["PD010"]
    assert "PD010" not in {f.code for f in check(read_texts({name: text, "decode.sh": DECODE}))}


def test_nothing_else_is_said_where_a_fault_explains_it() -> None:
    found = read_texts({"p.yaml": "services: [\n"})
    assert [kind for d in found for kind in faults(d)] == ["yaml"]


def test_engines_of_one_script_share_a_host_and_those_of_two_do_not() -> None:
    found = deployment({"a.sh": PREFILL + DECODE, "b.sh": DECODE})
    first, second, other = found.nodes
    assert first.host == second.host != other.host


def test_a_profile_that_a_script_starts_is_followed(tmp_path: Path) -> None:
    found = read_texts({"start.sh": "pd-launch decode --profile p.yaml --node-rank 0\n", "p.yaml": PROFILE})
    assert {path for d in found for path in d.sources} >= {"p.yaml"}
    assert [node.form for d in found for node in d.nodes] == ["profile"]
    shipped = read_texts({"start.sh": "exec pd-launch decode --profile cpu-tiny\n"})
    assert {node.form for d in shipped for node in d.nodes} == {"profile"}


@pytest.mark.parametrize(
    "command", ["[bash, -c, pd-launch decode --profile cpu-tiny]", "[pd-launch, decode, --profile=cpu-tiny]"]
)
def test_a_profile_that_a_pod_starts_is_followed(command: str) -> None:
    text = pod("decode").replace("[vllm, serve, /m]", command)
    found = read_texts({"pod.yaml": text})
    assert {node.form for d in found for node in d.nodes} == {"profile"}
    assert not [kind for d in found for kind in faults(d)]


def test_a_command_behind_two_dashes() -> None:
    words = [
        "env",
        "A=1",
        "vllm",
        "serve",
        "/m",
        "--port",
        "8100",
        "--kv-transfer-config",
        '{"kv_role": "kv_consumer"}',
    ]
    (found,) = read(Inputs([], command=words))
    (node,) = found.nodes
    assert (node.form, node.role, value(node, "port")) == ("command", "kv_consumer", "8100")
    assert variables(node) == {"A": "1"}
    assert flag(node, "port").origin.file == COMMAND_LINE
    assert node.kv_transfer is not None and node.kv_transfer.value["kv_role"].origin.column == 13


def test_a_command_joins_the_files_of_the_call() -> None:
    (found,) = read(Inputs([SourceFile("prefill.sh", PREFILL)], command=["vllm", "serve", "/m"]))
    assert [node.form for node in found.nodes] == ["shell", "command"]


def test_a_shell_behind_two_dashes_is_read() -> None:
    (found,) = read(Inputs([], command=["bash", "-c", "vllm serve /m --port 8100"]))
    assert value(found.nodes[0], "port") == "8100"


def test_standard_input() -> None:
    result = CliRunner().invoke(
        cli, ["check", "--format", "json", "-"], input='vllm serve /m --kv-transfer-config "{,}"\n'
    )
    assert result.exit_code == 1 and '"PD001"' in result.output


@pytest.mark.parametrize(
    "command",
    [
        "nohup vllm serve /m --port 8100 > log 2>&1 &",
        "exec vllm serve /m --port 8100",
        "sudo -u me env -u X A=1 vllm serve /m --port 8100",
        "numactl -N 0 -m 0 vllm serve /m --port 8100",
        "taskset -c 0-7 vllm serve /m --port 8100",
        "timeout -k 5 600 vllm serve /m --port 8100",
        "A=1 /opt/bin/vllm serve /m --port 8100",
        "python3 -m vllm.entrypoints.openai.api_server --model /m --port 8100",
        "python -u -m vllm.entrypoints.cli.main serve /m --port 8100",
        "python3.11 /x/vllm/entrypoints/openai/api_server.py --model /m --port 8100",
        'ssh node1 "vllm serve /m --port 8100"',
        "kubectl exec pod -- bash -c 'vllm serve /m --port 8100'",
        "bash -c 'vllm serve /m --port 8100'",
        "cat > run.sh <<'EOF'\nvllm serve /m --port 8100\nEOF",
        "bash <<EOF\nvllm serve /m --port 8100\nEOF",
        "stdbuf -oL vllm serve /m --port 8100 | tee log",
        "(vllm serve /m --port 8100)",
    ],
)
def test_programs_around_an_engine(command: str) -> None:
    node, found = launch(command + "\n")
    assert node.model is not None and node.model.value == "/m"
    line = command[: command.index("8100")].count("\n") + 1
    assert at(found, flag(node, "port").origin) == (line, "8100")


@pytest.mark.parametrize(
    "command",
    ["echo vllm serve /m", "vllm bench serve --model /m", "pip install vllm", "# vllm serve /m", "vllm --version"],
)
def test_other_commands_are_no_engines(command: str) -> None:
    assert not deployment({"a.sh": command + "\n"}).nodes


CONTAINERS = {
    "start.sh": "docker run -d --name v quay.io/ascend/vllm-ascend:v0.25.1rc1 bash\n",
    "my start.sh": "podman run -d quay.io/ascend/vllm-ascend:v0.25.1rc1\n",
    "compose.yaml": "services:\n  v:\n    image: quay.io/ascend/vllm-ascend:v0.25.1rc1\n    command: sleep 9\n",
    "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: a, command: [sleep]}]}\n",
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_without_an_engine_asks_for_the_script(name: str) -> None:
    [finding] = check(read_texts({name: CONTAINERS[name]}))
    assert finding.code == "PD010" and "run vllm serve" in (finding.help or "").replace("runs", "run")
    assert f"`pd-launch check {shlex.quote(name)} decode.sh`" in (finding.help or "")
    [chinese] = check(read_texts({name: CONTAINERS[name]}), lang="zh")
    assert "没有运行 vllm serve" in (chinese.help or "")
    together = check(read_texts({name: CONTAINERS[name], "decode.sh": DECODE}))
    assert "PD010" not in {f.code for f in together}


@pytest.mark.parametrize("text", ["echo hello\n", "docker ps\n"])
def test_what_holds_no_container_is_told_the_forms(text: str) -> None:
    [finding] = check(read_texts({"a.sh": text}))
    assert finding.code == "PD010" and (finding.help or "").startswith("give a profile, a script with vllm serve")


BAD_PROFILE = PROFILE.replace("name: p", "name: q").replace("{parallel:", "{engine: {max-num-seqss: 8}, parallel:")
BAD_POD = pod("decode").replace("/m]", "/m, --tensor-parallel-sizee, '8']")
LOOSE = "command: vllm serve /m --sizee 8\n"


@pytest.mark.parametrize(
    ("documents", "unknown", "alone"),
    [
        ([PROFILE], [], 0),
        ([PROFILE, ""], [], 0),
        (["", PROFILE], [], 0),
        ([PROFILE, BAD_PROFILE, BAD_POD], ["max-num-seqss", "tensor-parallel-sizee"], 1),
        ([pod("decode"), BAD_PROFILE], ["max-num-seqss"], 1),
        ([BAD_POD, PROFILE], ["tensor-parallel-sizee"], 1),
        ([PROFILE, LOOSE], ["sizee"], 1),
        ([PROFILE, "a: 1\n"], [], 1),
    ],
)
def test_each_document_counts_by_its_own_form(documents: list[str], unknown: list[str], alone: int) -> None:
    deployments = read_texts({"a.yaml": "---\n".join(documents)}, "vllm==0.32.0")
    said = [f.message for f in check(deployments) if f.severity != "info"]
    assert [m.rpartition("--")[2].partition(" ")[0] for m in said if "has no flag" in m] == unknown
    assert sum("the only YAML document" in m for m in said) == alone
    assert len(said) == len(unknown) + alone


def test_a_profile_in_any_document_is_the_one_that_a_script_names() -> None:
    files = {"a.sh": "pd-launch decode --profile b.yaml\n", "b.yaml": "---\n".join([PROFILE, BAD_POD])}
    for order in (("a.sh", "b.yaml"), ("b.yaml", "a.sh")):
        deployments = read_texts({name: files[name] for name in order}, "vllm==0.32.0")
        said = sorted(f.code for f in check(deployments) if f.severity == "error")
        assert said == ["PD004", "PD012"], order
        assert sum(node.form == "profile" for d in deployments for node in d.nodes) == 1
