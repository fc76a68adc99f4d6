"""What an input itself says of an engine's release: comments, images, and lines that install it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import Inputs, read, read_texts
from pd_launch.launcher.sources.release.image_names import image_name
from pd_launch.launcher.sources.release.release_words import Mention, mentions, target_comment
from pd_launch.schemas.core.target import Target, parse_target

SERVE = "vllm serve m --port 8100\n"


def said(text: str, name: str = "a.sh") -> list[list[Mention]]:
    """Return what is said of each engine of a file."""
    return [mentions(node, d.sources) for d in read_texts({name: text}) for node in d.nodes]


def first_target(found: Iterable[Mention]) -> Target | None:
    """Return the release that the first word with one names."""
    return next((mention.target for mention in found if mention.target is not None), None)


def target_of(text: str, name: str = "a.sh") -> str:
    """Return the release of the only engine of a file."""
    (only,) = said(text, name)
    return str(first_target(only))


@pytest.mark.parametrize(
    ("image", "ascend", "version"),
    [
        ("vllm/vllm-openai:v0.32.0", False, "0.32.0"),
        ("docker.io/vllm/vllm-openai:v0.11.0-x86_64", False, "0.11.0"),
        ("registry:5000/vllm/vllm-openai:v0.10.1.1", False, "0.10.1.1"),
        ("docker://vllm/vllm-openai:v0.8.5.post1", False, "0.8.5.post1"),
        ("vllm/vllm-openai:v0.32.0@sha256:0123", False, "0.32.0"),
        ("quay.io/ascend/vllm-ascend:v0.30.0rc2-a3", True, "0.30.0rc2"),
        ("quay.io#ascend/vllm-ascend:v0.23.0-openeuler", True, "0.23.0"),
        ("m.daocloud.io/quay.io/ascend/vllm-ascend:v0.18.0", True, "0.18.0"),
        ("\ue000/ascend/vllm-ascend:v0.18.0", True, "0.18.0"),
        ("quay.io/ascend/vllm-ascend:latest", True, None),
        ("quay.io/ascend/vllm-ascend:main-a3", True, None),
        ("quay.io/ascend/vllm-ascend", True, None),
        ("vllm/vllm-openai:nightly-0123456789abcdef", False, None),
        ("vllm/vllm-openai@sha256:0123", False, None),
        ("vllm/vllm-openai:\ue000", False, None),
        ("vllm/vllm-openai:{{ .Values.tag }}", False, None),
        ("vllm/vllm-openai:v0." + "9" * 60 + ".0", False, None),
        ("lmcache/vllm-openai:v0.3.2", False, None),
        ("ghcr.io/volcano-sh/vllm-openai:v0.10.0-cu128", False, None),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0", False, None),
        ("team/vllm-ascend:v0.23.0", True, None),
        ("registry/npu/vllm:v0.23.0", True, None),
        ("my.registry/team/vllm-serving:1.4.2", None, None),
        ("aibrix/runtime:v0.4.1", None, None),
        ("aibrix/vllm-openai:v0.10.2-aibrix0.5.0-nixl0.7.1-20251123", False, "0.10.2"),
        ("registry:5000/aibrix/vllm-openai:v0.32.0-aibrix0.7.0@sha256:0123", False, "0.32.0"),
        ("aibrix/vllm-openai:v0.7.0", False, None),
        ("aibrix/vllm-openai:aibrix-v0.7.0", False, None),
        ("other/vllm-openai:v0.10.2-aibrix0.5.0", False, None),
        ("ghcr.io/volcano-sh/kthena-engine:vllm-ascend_v0.10.1rc1_mooncake_v0.3.6", True, None),
        ("team/engine:1.2-cu128", False, None),
        ("\ue000:v0.32.0", None, None),
        ("", None, None),
    ],
)
def test_image_names(image: str, ascend: bool | None, version: str | None) -> None:
    """A tag is a release only in the engine's own repositories; a name may still say the family."""
    found = image_name(image)
    assert (found.ascend, found.version) == (ascend, version)


def test_an_image_that_is_built_on_an_official_one_is_none_itself() -> None:
    """It may bring connectors of its own, as others' images may."""
    assert not image_name("aibrix/vllm-openai:v0.32.0-aibrix0.7.0").official


@pytest.mark.parametrize(
    ("comment", "target"),
    [
        ("# pd-launch: target vllm==0.32.0", "vLLM 0.32.0"),
        ("#pd-launch:target vllm-ascend==0.30.0rc2", "vllm-ascend 0.30.0rc2"),
        ("# pd-launch: target vllm:0.32.0 as the cluster has it", "vLLM 0.32.0"),
        ('# pd-launch: target: "vllm@0.32.0"', "vLLM 0.32.0"),
        ("# pd-launch: target vllm_ascend == 0.23.0", "vllm-ascend 0.23.0"),
        ("# pd-launch: target 0.23.0", "vllm-ascend 0.23.0"),
    ],
)
def test_a_comment_names_the_target(comment: str, target: str) -> None:
    """In every form with such comments, above the engine, on its line or below it."""
    pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    command: [vllm, serve, m]\n"
    unit = "[Service]\nExecStart=/usr/bin/vllm serve m\n"
    compose = "services:\n  a:\n    image: vllm/vllm-openai:v0.18.0\n    command: [--model, m]\n"
    python = "from vllm import LLM\nllm = LLM(model='m')\n"
    for name, text in (
        *(("a.sh", SERVE), ("p.yaml", pod), ("a.service", unit), ("compose.yaml", compose), ("a.py", python)),
    ):
        assert target_of(f"{comment}\n{text}", name) == target, name
        assert target_of(f"{text}{comment}\n", name) == target, name
    assert target_of(f"{SERVE.rstrip()} {comment}\n") == target
    assert target_of(f"\ufeff{comment}\n{compose}", "compose.yaml") == target
    found = said(f"{comment}\n{SERVE}")[0][0]
    assert (found.by, found.origin.line, found.origin.column) == ("comment", 1, 1)


def test_the_nearest_comment_above_counts() -> None:
    """So that a file may have engines of several releases; the first counts for what stands above all."""
    text = (
        f"{SERVE}# pd-launch: target vllm==0.30.0\n{SERVE}\n# pd-launch: target vllm-ascend==0.23.0\n"
        "vllm serve m \\\n  --port 1\n"
    )
    assert [str(first_target(found)) for found in said(text)] == ["vLLM 0.30.0", "vLLM 0.30.0", "vllm-ascend 0.23.0"]


def test_a_comment_in_a_script_of_a_manifest() -> None:
    """The script of a ConfigMap has its own."""
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n"
        "  a.sh: |\n    # pd-launch: target vllm==0.30.0\n    vllm serve a\n"
        "  b.sh: |\n    # pd-launch: target vllm==0.31.0\n    vllm serve b\n"
    )
    assert [str(first_target(found)) for found in said(text, "c.yaml")] == ["vLLM 0.30.0", "vLLM 0.31.0"]


def test_a_script_in_one_document_and_its_pod_in_another() -> None:
    """Its own document counts first, then its pod's, then the rest of the file."""
    script = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n  a.sh: |\n    vllm serve m\n"
    pod = (
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    command: [sh, /s/a.sh]\n"
        "    volumeMounts: [{name: s, mountPath: /s}]\n  volumes: [{name: s, configMap: {name: s}}]\n"
    )
    other = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: b\n    command: [vllm, serve, b]\n"
    first, mine, its = (f"# pd-launch: target vllm==0.{minor}.0\n" for minor in (30, 31, 32))
    for text, wanted in (
        (f"{first}{other}---\n{script}---\n{pod}{mine}", ["0.31.0", "0.30.0"]),
        (f"{first}{other}---\n{script}{its}---\n{pod}{mine}", ["0.32.0", "0.30.0"]),
        (f"{first}{other}---\n{script}---\n{pod}", ["0.30.0", "0.30.0"]),
        (f"{first}---\n{script}---\n{pod}---\n{other}", ["0.30.0", "0.30.0"]),
    ):
        for name in ("m.yaml", "<stdin>"):
            found = {
                node.model.value: first_target(mentions(node, d.sources))
                for d in read_texts({name: text})
                for node in d.nodes
                if node.model is not None
            }
            assert [str(found["m"]), str(found["b"])] == [f"vLLM {minor}" for minor in wanted]


@pytest.mark.parametrize(
    ("comment", "message", "hint"),
    [
        ("# pd-launch: target", "names no valid target", "write # pd-launch: target vllm==0.32.0"),
        ("# pd-launch: target vllm==latest", "'latest' is not a release", "write # pd-launch: target"),
        ("# pd-launch: target vllm==$VERSION", "is not a release", "write # pd-launch: target"),
        ("# pd-launch: target ./venv", "is not a release", "write # pd-launch: target"),
        ("# pd-launch: taget vllm==0.32.0", "no comment 'taget'", "did you mean target?"),
        ("# pd-launch: Target vllm==0.32.0", "no comment 'Target'", "did you mean target?"),
        ("# pd-launch: ignor[PD406]", "no comment 'ignor'", "did you mean ignore?"),
        ("# pd-launch target vllm==0.32.0", "a colon is missing", "write # pd-launch: target"),
    ],
)
def test_a_comment_that_says_nothing_is_found(comment: str, message: str, hint: str) -> None:
    """As PD013, as an ignore comment that does nothing is, with what to write instead."""
    deployments = read_texts({"a.sh": f"{comment}\n{SERVE}"}, target="vllm==0.32.0")
    (found,) = [finding for finding in check(deployments) if finding.code == "PD013"]
    assert message in found.message
    assert hint in found.help
    assert found.line == 1
    chinese = next(f for f in check(deployments, lang="zh") if f.code == "PD013")
    assert "请写" in chinese.help


@pytest.mark.parametrize(
    "comment",
    [
        "# pd-launch: see the guide", "# pd-launch targets are set in CI", "# made by pd-launch", "# pd-launch:",
        "# pd-launch: ignore[PD013] for now", 'echo "x# pd-launch: target nonsense"',
    ],
)  # fmt: skip
def test_other_comments_are_none_of_its_business(comment: str) -> None:
    """People write of the tool as well."""
    (deployment,) = read_texts({"a.sh": f"{comment}\n{SERVE}"})
    assert not list(deployment.faults_of("comment"))
    assert first_target(mentions(deployment.nodes[0], deployment.sources)) is None


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("pip install vllm==0.32.0", "vLLM 0.32.0"),
        ("uv pip install 'vllm[audio,video]==0.31.0' --torch-backend=auto", "vLLM 0.31.0"),
        ("python3 -m pip install --no-cache-dir \\\n  numpy \\\n  vllm==0.32.0", "vLLM 0.32.0"),
        ("pip install vllm==0.18.0\npip install vllm-ascend==0.18.0", "vllm-ascend 0.18.0"),
        ("pip install vllm_ascend==0.23.0.post1", "vllm-ascend 0.23.0.post1"),
        ("pip install vllm==0.32.0+cu129", "vLLM 0.32.0"),
        ("pip install vllm==0.18.0 vllm-ascend", "None"),
        ("VERSION=0.32.0\npip install vllm==${VERSION}", "vLLM 0.32.0"),
        ("ARG VLLM_VERSION=0.32.0\nRUN pip install vllm==$VLLM_VERSION", "vLLM 0.32.0"),
        ("VERSION=${1:-0.32.0}\npip install vllm==${VERSION}", "None"),
        ("VERSION=0.32.0\nVERSION=0.31.0\npip install vllm==${VERSION}", "None"),
        ("pip install vllm==$VERSION", "None"),
        ("pip install 'vllm>=0.32.0'", "None"),
        ("pip install vllm==0.11.*", "None"),
        ("pip install vllm", "None"),
        ("# pip install vllm==0.32.0", "None"),
        ("pip uninstall -y vllm==0.32.0", "None"),
        ("uv --quiet pip uninstall vllm==0.32.0", "None"),
        ("pip freeze | grep -q vllm==0.32.0", "None"),
        ("pip list | grep -q vllm==0.31.0 || pip install vllm==0.32.0", "vLLM 0.32.0"),
        ('echo "first: pip install vllm==0.32.0"', "None"),
        ("pip install my-vllm==1.2.3 vllm-omni==0.4.0", "None"),
        ("cat > requirements.txt <<EOF\nvllm==0.32.0\nEOF", "vLLM 0.32.0"),
        ("FROM vllm/vllm-openai:v0.32.0", "vLLM 0.32.0"),
        ("FROM --platform=linux/arm64 quay.io/ascend/vllm-ascend:v0.23.0-a3 AS base", "vllm-ascend 0.23.0"),
        ("FROM team/vllm:v0.32.0", "None"),
    ],
)
def test_lines_that_install_an_engine(line: str, target: str) -> None:
    """Exact pins count, and nothing else."""
    assert target_of(f"{line}\n{SERVE}") == target


@pytest.mark.parametrize(
    "line",
    [
        "uv run --with vllm==0.32.0 vllm serve m", "uvx --from 'vllm[audio]==0.32.0' vllm serve m",
        "uvx vllm@0.32.0 serve m\nvllm serve n", "uv run \\\n  --with=vllm==0.32.0 \\\n  vllm serve m --port 1",
    ],
)  # fmt: skip
def test_what_runs_an_engine_with_a_release(line: str) -> None:
    """It holds for that command alone."""
    found = said(f"{line}\n{SERVE}")
    expected = "None" if line.startswith("uvx vllm@") else "vLLM 0.32.0"
    assert str(first_target(found[0])) == expected
    assert first_target(found[-1]) is None


def test_images_that_slurm_and_apptainer_run() -> None:
    """The image stands on the line that starts the engine."""
    assert target_of("srun --container-image=vllm/vllm-openai:v0.32.0 vllm serve m\n") == "vLLM 0.32.0"
    assert target_of("apptainer exec --nv docker://vllm/vllm-openai:v0.31.0 vllm serve m\n") == "vLLM 0.31.0"


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("uv run --with vllm==0.31.0 vllm serve m", "vLLM 0.31.0"),
        ("srun --container-image=quay.io/ascend/vllm-ascend:v0.23.0 vllm serve m", "vllm-ascend 0.23.0"),
        ("docker run vllm/vllm-openai:v0.30.0 --model m", "vLLM 0.30.0"),
    ],
)
def test_the_command_behind_two_dashes(command: str, target: str) -> None:
    """Its words count, although they stand in no file."""
    (found,) = read(Inputs([], command=command.split()))
    words = mentions(found.nodes[0], found.sources)
    assert str(first_target(words)) == target
    assert all(mention.text in command for mention in words)


def test_comments_go_before_images_and_images_before_what_is_installed() -> None:
    """The order of authority."""
    text = (
        "# pd-launch: target vllm==0.30.0\n"
        "docker run vllm/vllm-openai:v0.31.0 bash -c 'pip install vllm==0.32.0 && vllm serve m'\n"
    )
    (found,) = said(text)
    assert [(m.by, str(m.target)) for m in found] == [
        *(("comment", "vLLM 0.30.0"), ("image", "vLLM 0.31.0"), ("requirement", "vLLM 0.32.0")),
    ]


def test_each_engine_has_its_own_release() -> None:
    """A target holds for its engine."""
    text = (
        "services:\n  prefill:\n    image: vllm/vllm-openai:v0.31.0\n    command: [--model, m]\n"
        "  decode:\n    image: quay.io/ascend/vllm-ascend:v0.23.0-a3\n    command: [vllm, serve, m]\n"
    )
    assert [str(first_target(found)) for found in said(text, "compose.yaml")] == ["vLLM 0.31.0", "vllm-ascend 0.23.0"]


def test_what_one_document_installs_is_not_installed_in_another() -> None:
    """Two pods in one file are two places."""
    pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    command: [bash, -c]\n    args:\n"
    text = f"{pod}    - pip install vllm==0.31.0 && vllm serve m\n---\n{pod}    - vllm serve m\n"
    assert [str(first_target(found)) for found in said(text, "p.yaml")] == ["vLLM 0.31.0", "None"]


@pytest.mark.parametrize("target", ["vllm==0.32.0", "vllm-ascend==0.30.0rc2", "vllm==0.99.0"])
def test_the_comment_that_is_written_is_read(target: str) -> None:
    """What a rendered form carries names the same release, one that is no row included."""
    wanted = parse_target(target)
    (found,) = said(f"{target_comment(wanted)}\n{SERVE}")
    assert found[0].target is not None
    assert (str(found[0].target), found[0].target.asked) == (str(wanted), wanted.asked)


def test_a_long_line_and_many_words_cost_little() -> None:
    """Hostile text ends."""
    text = "pip install " + "vllm==1.2.3 " * 20000 + "\n" + "# pd-launch: target vllm==0.32.0\n" * 2000 + SERVE
    assert target_of(text) == "vLLM 0.32.0"
