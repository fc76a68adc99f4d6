"""The release watch: replayed over releases that changed much, it names what they changed."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from add_release import with_row  # noqa: E402
from release_checklist import checklist  # noqa: E402
from release_extract import changes, extract  # noqa: E402
from release_places import place  # noqa: E402
from release_watch import known_rows  # noqa: E402

from pd_launch.schemas.releases.registry import all_facts  # noqa: E402

DATA = ROOT / "tests" / "data" / "release_watch.json"
RELEASES = ("0.27.1rc1", "0.28.0rc1", "0.29.0rc1", "0.30.0rc1")


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """Return each release's part of the list, as of 0.27.1rc1."""
    found: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
    assert [one["release"] for one in found] == list(RELEASES)
    return {new["release"]: "\n".join(checklist(old, new)) for old, new in pairwise(found)}


def lines(text: str, *words: str) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]


NAMED = {
    "lines of the scheduler, gone": (
        "0.28.0rc1", "gone:", "Recompute preemption falls back without offload for request %s"),
    "lines of the scheduler, new": ("0.28.0rc1", "new:", "KV offload raised before decode-side preemption"),
    "lines of the scheduler, new too": ("0.28.0rc1", "new:", "KV offload was unavailable or failed"),
    "a line that logs looks for": (
        "0.28.0rc1", 'the log says "Recompute preemption falls back', "launcher/logs/patterns.py:"),
    "the aborted request": ("0.30.0rc1", "new:", "KV offload failed with fine-grained TP enabled; aborting"),
    "a new connector": ("0.28.0rc1", "new: `PreemptOffloadConnector`"),
    "a connector that is gone": ("0.28.0rc1", "gone: `RecomputeCPUOffloadConnector`", "now `PreemptOffloadConnector`"),
    "a new key": ("0.30.0rc1", "new: `ascend_warmup_config`"),
    "a key that is gone": ("0.30.0rc1", "gone: `enable_reduce_sample`"),
    "a refusal that is gone": ("0.30.0rc1", "embedding_tensor_parallel_size needs the recompute scheduler", "PD110"),
    "a refusal that is otherwise": ("0.30.0rc1", "oproj_tensor_parallel_size needs tensor-parallel size 1", "PD110"),
    "a refusal that is new": ("0.30.0rc1", "new:", "require PreemptOffloadConnector"),
    "words of a flag": ("0.30.0rc1", "new: `--kv-cache-dtype`", " int8,"),
    "a key that is overwritten": ("0.29.0rc1", "new: `enable_sparse_sfa_c8`", "cache_dtype"),
    "another key that is overwritten": ("0.29.0rc1", "new: `enable_sparse_li_c8`", "indexer_kv_dtype"),
    "a class's name": ("0.28.0rc1", "`UCMConnector` is registered, not `UCMConnectorV1`"),
    "the first release of a connector": ("0.29.0rc1", "new: `MooncakeD2RHConnectorV1`"),
    "what it is built with": ("0.28.0rc1", "vllm: 0.27.1 → 0.28.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMED)
def test_the_replay_names(said: dict[str, str], case: str) -> None:
    release, *words = NAMED[case]
    assert lines(said[release], *words), said[release]


def test_nothing_is_named_of_another_release(said: dict[str, str]) -> None:
    assert not lines(said["0.28.0rc1"], "MooncakeD2RHConnectorV1")
    assert not lines(said["0.29.0rc1"], "new: `--kv-cache-dtype`")
    assert not lines(said["0.30.0rc1"], "UCMConnector"), "its connectors are those of the release before"


def test_each_item_says_where_it_is_kept(said: dict[str, str]) -> None:
    for text in said.values():
        for title in (line for line in text.splitlines() if line.startswith("### ")):
            assert "(" in title or title in ("### Facts that no longer hold", "### Modules that patch vLLM")
        after = text.partition("### Facts that no longer hold")[2]
        assert all(".py:" in line for line in after.splitlines() if line.startswith("- [ ]"))


def test_the_same_release_changes_nothing(said: dict[str, str]) -> None:
    one = json.loads(DATA.read_text(encoding="utf-8"))[0]
    assert not [line for line in checklist(one, one) if line.startswith("- ")]


@pytest.mark.parametrize("name", sorted(all_facts()))
def test_every_fact_has_a_place(name: str) -> None:
    file, _, line = place(all_facts()[name]).partition(" → ")[0].partition(",")[0].partition(":")
    assert (ROOT / file).is_file() and int(line) > 0


def test_rows_up_to_a_release() -> None:
    assert known_rows("vllm-ascend", "0.27.1rc1")[-1] == "0.27.1rc1"
    assert known_rows("vllm", "0.27.1rc1")[-1] == "0.27.1"


def test_a_row_is_put_in_order() -> None:
    text = 'ASCEND_PAIRS = {\n    "0.28.0rc1": "0.28.0",\n    "0.30.0rc1": "0.30.0",\n}\nASCEND_COMPANIONS = {\n}\n'
    text += 'VLLM_RELEASES = [\n    "0.28.0", "0.30.0",\n]\n'
    made = with_row(text, "vllm-ascend", "0.29.0rc1", {"vllm": "0.29.0", "cann": "9.1.0"})
    assert made.index('"0.28.0rc1"') < made.index('    "0.29.0rc1": "0.29.0",') < made.index('"0.30.0rc1"')
    assert '    "0.29.0rc1": {"cann": "9.1.0"},' in made
    assert with_row(made, "vllm-ascend", "0.29.0rc1", {"vllm": "0.29.0"}) == made
    assert '    "0.31.0",\n]' in with_row(text, "vllm", "0.31.0", {})


def test_changes_between_tables() -> None:
    old = {"flags": {"a": "int", "b": {"kind": "str", "default": 1}}}
    new = {"flags": {"b": {"kind": "str", "default": 2}, "c": "int"}, "env": {"X": "flag"}}
    assert [(section, name) for section, name, _, _ in changes(old, new)] == [
        ("env", "X"), ("flags", "a"), ("flags", "b"), ("flags", "c"),
    ]  # fmt: skip


def test_an_extract_of_a_release_that_is_not_there(tmp_path: Path) -> None:
    """A release that lacks the files that are looked at says nothing; it is no fault of the reader."""
    from evidence import Files

    found = extract(Files("vllm", "0.32.0", tmp_path, {}), {}, "0.32.0")
    assert found["logs"] == [] and found["overwritten"] == {} and found["broken"]


def test_nothing_new_is_said_and_ends_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import release_watch

    monkeypatch.setattr(release_watch, "published", lambda project: known_rows(project, None))
    monkeypatch.setattr(sys, "argv", ["release_watch.py"])
    assert release_watch.main() == 0
    assert capsys.readouterr().out == "nothing is new\n"


def test_what_is_new_is_written_and_ends_with_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As of 0.27.1rc1, with the stored extracts in place of the index and the releases."""
    import release_watch

    found = {one["release"]: one for one in json.loads(DATA.read_text(encoding="utf-8"))}
    monkeypatch.setattr(release_watch, "published", lambda _: list(RELEASES))
    monkeypatch.setattr(release_watch, "read", lambda _project, release, _known: found[release])
    output = tmp_path / "list.md"
    arguments = ["--as-of", RELEASES[0], "--project", "vllm-ascend", "--no-corpus", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["release_watch.py", *arguments])
    assert release_watch.main() == 1
    text = output.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## vllm-ascend {release}" for release in RELEASES[1:]
    ]


def test_an_index_that_does_not_answer_ends_with_2(monkeypatch: pytest.MonkeyPatch) -> None:
    import release_watch
    from release_archives import ReadError

    def fails(_: str) -> list[str]:
        raise ReadError("pip names no versions: no output")

    monkeypatch.setattr(release_watch, "published", fails)
    monkeypatch.setattr(sys, "argv", ["release_watch.py", "--project", "vllm"])
    assert release_watch.main() == 2


def test_a_release_of_its_own_tables_judges_our_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a release no longer registers is found in what names it, although the tables' rows lack the release."""
    import release_corpus
    from evidence import table_of

    text = "vllm serve /models/m --kv-transfer-config " + json.dumps(
        {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer"}
    ).join("''")
    release_corpus._verdicts.cache_clear()
    monkeypatch.setattr(release_corpus, "corpus", lambda: iter([("decode.sh", {"decode.sh": text}, None)]))
    known = release_corpus.ascend_target("0.27.1rc1", "unknown")
    new = release_corpus.built("vllm-ascend", "0.28.0rc1", "0.27.1rc1", table_of("vllm-ascend", "0.28.0rc1"))
    ((name, fresh, _),) = release_corpus.other_verdicts(known, new)
    assert name == "decode.sh" and "PD201" in fresh
    release_corpus._verdicts.cache_clear()
