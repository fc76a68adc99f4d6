"""What of an input a message repeats has an end, and says where it was cut."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.secrets.masking import all_secrets, hide
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.msg import MOST, MOST_QUOTED, shortened


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("no flag --seeds", "no flag --seeds"),
        ("no flag --" + "a" * 500 + " in it", "no flag --" + "a" * 198 + "… in it"),
        ("not '" + "x" * 500 + "'", "not '" + "x" * 199 + "…'"),
        ("not '" + "y " * 300 + "' here", "not '" + ("y " * 99) + "…' here"),
        ("it's so " + "and so " * 60 + "with the user's own", "it's so " + "and so " * 60 + "with the user's own"),
        ("没有" * 400, "没有" * 400),
        ('{"a": 1, "b": ' + '"k",' * 60 + "}", '{"a": 1, "b": ' + '"k",' * 50 + "…"),
    ],
)
def test_what_is_long_is_cut(text: str, short: str) -> None:
    assert shortened(text) == short


def test_a_message_has_an_end() -> None:
    assert len(shortened("ab " * 100_000)) <= MOST + 1


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "written",
    [f"--aaa{'b' * 50_000} 8", f"--seed {'x' * 50_000}", f"--dtype '{'y ' * 30_000}'", f"{'w' * 50_000}"],
)
def test_no_finding_repeats_a_long_word(written: str, lang: str) -> None:
    found = check(read_texts({"a.sh": f"vllm serve m {written}\n"}, "vllm==0.32.0"), lang=lang)
    assert found
    for finding in found:
        said = [finding.message, finding.help, *(place.message for place in finding.related)]
        assert all(len(text) < 3 * MOST_QUOTED for text in said), finding.code


@pytest.mark.parametrize("width", range(150, 210, 3))
def test_a_secret_that_is_cut_is_masked(width: int) -> None:
    secret = "hfx9Secret7ZqLongEnough0"
    text = f"export HF_TOKEN={secret}\nvllm serve m --seed '{'z' * width},{secret},{'z' * 300}'\n"
    deployments = read_texts({"a.sh": text}, "vllm==0.32.0")
    said = str(hide(check(deployments), all_secrets(deployments)))
    assert "hfx9" not in said
