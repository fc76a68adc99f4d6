"""The documents: generated parts are current, links lead somewhere, and commands do what the pages show."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from doc_examples import blocks, commands, pd_launch_beside, run_document, unmarked

from pd_launch.launcher.cli import cli
from pd_launch.launcher.commands.options import variable_part

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts"))
from check_site import dead  # noqa: E402

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
GUIDE = sorted([*DOCS.glob("guide/*.md"), *DOCS.glob("zh/guide/*.md"), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|\b(?:href|src)=\"([^\"]+)\"")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/build_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"run scripts/build_docs.py: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", GUIDE, ids=named)
def test_commands_of_the_guide_do_what_it_shows(page: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith("PD_LAUNCH_")}
    env |= {"PATH": f"{pd_launch_beside(tools)}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    done = run_document(page.read_text(encoding="utf-8"), folder, env)
    faults = [fault for fault in (command.fault() for command in done) if fault]
    assert not faults, "\n\n".join(faults)


@pytest.mark.parametrize("page", GUIDE, ids=named)
def test_no_example_of_the_guide_is_left_out_without_a_reason(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [f"line {block.line}" for block in unmarked(text)] == []
    assert all(block.value for block in blocks(text) if block.mark == "not run")


def test_every_guide_has_its_chinese_page_with_the_same_commands() -> None:
    for page in DOCS.glob("guide/*.md"):
        chinese = DOCS / "zh" / "guide" / page.name
        shown = [
            {
                command.text.split("\n")[0]
                for block in blocks(path.read_text(encoding="utf-8"))
                for command in commands(block)
                if block.language == "console" and "PD_LAUNCH_LANG" not in command.text
            }
            for path in (page, chinese)
        ]
        assert shown[1] <= shown[0], chinese
        assert shown[1] or not shown[0], chinese


@pytest.mark.parametrize("name", ["containers.md", "launching.md"])
def test_pages_in_both_languages_show_the_same(name: str) -> None:
    pages = [(folder / name).read_text(encoding="utf-8") for folder in (DOCS, DOCS / "zh")]
    shown = [[b.body for b in blocks(page) if b.language in ("bash", "yaml", "dockerfile")] for page in pages]
    assert shown[0] == shown[1] and (shown[0] or name == "launching.md")
    levels = [re.findall(r"^#+ ", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S), re.M) for page in pages]
    assert levels[0] == levels[1]
    rows = [len(re.findall(r"^\|", page, re.M)) for page in pages]
    assert rows[0] == rows[1]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as Git hosts make them and the site does (slugify in mkdocs.yml)."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ +(.+?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    dead = []
    for link in ("".join(found) for found in LINK.findall(text)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            dead.append(link)
    assert not dead


def command_lines() -> list[tuple[str, str]]:
    """Return every line of a fenced block, in any document, that begins with pd-launch."""
    found = []
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            body = block.body.replace("\\\n", " ")
            for line in body.split("\n"):
                line = line.removeprefix("$ ").strip()
                if re.match(r"pd-launch [a-z-]", line) and "[OPTIONS]" not in line:
                    found.append((named(page), line))
    return found


def test_options_and_commands_in_documents_exist() -> None:
    wrong = []
    for page, line in command_lines():
        if fault := unknown_part(re.split(r" \| | > | < |;| && |\s{2,}#|\s+#", line)[0]):
            wrong.append(f"{page}: {line}: {fault}")
    assert not wrong, "\n".join(wrong)
    assert len(command_lines()) > 60


def unknown_part(line: str) -> str:
    """Return what the command line does not know of a command, or nothing."""
    try:
        words = shlex.split(line)[1:]
    except ValueError:
        return ""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith(("-", "…")):
        name = words.pop(0)
        if name not in command.commands:
            return "" if command.params and not command.commands else f"no command {name}"
        command = command.commands[name]
    known = {"-h", "--help"} | {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    for word in words:
        if word == "--":
            return ""
        if word.startswith("-") and word != "-" and word.partition("=")[0] not in known:
            return f"no option {word}"
    return ""


def test_the_check_of_command_lines_itself() -> None:
    assert unknown_part("pd-launch check a.sh --target x") == ""
    assert unknown_part("pd-launch chek a.sh") == "no command chek"
    assert unknown_part("pd-launch check --formt json") == "no option --formt"
    assert unknown_part("pd-launch facts diff --host a b") == "no option --host"
    assert unknown_part("pd-launch decode --profile a -- --seed 1") == ""


def every_command() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []

    def below(name: str, command: click.Command) -> None:
        found.append((name, command))
        for child, inner in getattr(command, "commands", {}).items():
            below(f"{name} {child}", inner)

    below("pd-launch", cli)
    return found


@pytest.mark.parametrize(
    ("name", "command"), every_command(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_help_reads_well_at_80_columns_and_has_an_example(name: str, command: click.Command) -> None:
    context = click.Context(command, info_name=name, terminal_width=80, max_content_width=80)
    text = command.get_help(context)
    assert max(map(len, text.split("\n"))) <= 80
    assert re.search(r"Examples?:\n    (pd-launch|kubectl|source) ", text), text
    assert all(p.help for p in command.params if isinstance(p, click.Option)), "an option without a word"
    for child in getattr(command, "commands", {}).values():
        assert not child.get_short_help_str(58).endswith("...")


def variables() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, command in every_command():
        for option in command.params:
            if isinstance(option, click.Option) and option.name != "version":
                prefix = "_".join(name.upper().replace("-", "_").split())
                found.setdefault(f"{prefix}_{variable_part(option)}", []).append(f"{name} {option.opts[-1]}")
    return found


def test_every_option_has_a_variable_of_its_own() -> None:
    assert [names for names in variables().values() if len(names) > 1] == []
    assert not {"PD_LAUNCH_LANG", "PD_LAUNCH_CACHE"} & set(variables())
    assert {"PD_LAUNCH_CHECK_FORMAT", "PD_LAUNCH_CHECK_FAIL_ON", "PD_LAUNCH_DECODE_SET"} <= set(variables())


def run(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pd_launch", *args],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"} | env,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("env", "args", "words"),
    [
        ({"PD_LAUNCH_CHECK_FORMAT": "json"}, ("check", "s.sh"), '"format_version"'),
        ({"PD_LAUNCH_CHECK_FORMAT": "json"}, ("check", "s.sh", "--format", "concise"), "s.sh:1:"),
        ({"PD_LAUNCH_CHECK_TARGET": "vllm==0.27.1"}, ("check", "s.sh"), "checked for vLLM 0.27.1"),
        ({"PD_LAUNCH_CHECK_SELECT": "PD0", "PD_LAUNCH_LANG": "zh"}, ("check", "s.sh"), "错误[PD001]"),
        ({"PD_LAUNCH_CHECK_COLOR": "always"}, ("check", "s.sh"), "\033["),
        (
            {
                "PD_LAUNCH_DECODE_PROFILE": "cpu-tiny",
                "PD_LAUNCH_DECODE_DRY_RUN": "1",
                "PD_LAUNCH_DECODE_FORMAT": "shell",
            },
            ("decode",),
            "exec vllm serve",
        ),
        ({"PD_LAUNCH_DECODE_SET": "decode.port=8300 name=x"}, ("decode", "--profile", "cpu-tiny", "--dry-run"), "8300"),
        ({"PD_LAUNCH_EXPLAIN_LANG": "zh"}, ("explain", "PD301"), "为什么重要"),
    ],
)
def test_variables_work_and_the_command_line_wins(
    env: dict[str, str], args: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    (tmp_path / "s.sh").write_text("vllm serve m --kv-transfer-config '{,}'\n")
    done = run(*args, cwd=tmp_path, **env)
    assert words in done.stdout, done


def test_the_version_names_the_newest_releases_known(tmp_path: Path) -> None:
    done = run("--version", cwd=tmp_path)
    assert re.search(r"^newest releases known: vllm-ascend \d[\w.]+, vLLM \d[\w.]+$", done.stdout, re.MULTILINE)


def test_the_man_page_has_every_option() -> None:
    text = (DOCS / "man" / "pd-launch.1").read_text(encoding="utf-8")
    for name, command in every_command()[1:]:
        assert f".SS {name.replace('-', chr(92) + '-')}\n" in text
        for option in command.params:
            if isinstance(option, click.Option):
                assert max(option.opts, key=len).replace("-", "\\-") in text
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-k", str(DOCS / "man" / "pd-launch.1")],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: make docs installs it")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert list(dead(tmp_path)) == []


def test_links_of_a_built_site_that_lead_nowhere_are_named(tmp_path: Path) -> None:
    (tmp_path / "guide" / "playground").mkdir(parents=True)
    (tmp_path / "guide" / "playground" / "index.html").touch()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">a</h1> <a href="guide/#there">b</a> <a href="#top">c</a> <a href="https://h/x">d</a>'
        '<a href="guide/#not-there">e</a> <a href="gone/">f</a> <img src="img/none.svg"> <a href="../out">g</a>'
    )
    (tmp_path / "guide" / "index.html").write_text(
        '<p id="there"><a href="/">a</a> <a href="../playground/?lang=en">b</a> <a href="../playground/none.js">c</a>'
    )
    named = ["guide/index.html: ../playground/none.js"]
    named += [f"index.html: {link}" for link in ("guide/#not-there", "gone/", "img/none.svg", "../out")]
    assert list(dead(tmp_path)) == named


@pytest.mark.parametrize("page", ["index.md", "guide/playground.md", "zh/index.md", "zh/guide/playground.md"])
def test_the_site_leads_to_the_playground_and_a_git_host_to_how_it_is_built(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert "<!-- open the playground -->" in text and "playground/?lang" not in text
    guide = "zh/guide/playground.md" if page.startswith("zh/") else "guide/playground.md"
    assert "$ make playground\n" in (DOCS / guide).read_text(encoding="utf-8")
    assert page == guide or guide.removeprefix("zh/") in text


def test_documents_name_no_place_of_this_machine() -> None:
    places = [str(ROOT), "../shared", str(Path.home()) if Path.home() != Path("/root") else "/root/"]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not [place for place in places if place in text], page


def test_the_example_profile_of_the_guide_is_the_one_that_lies_beside_it() -> None:
    text = (DOCS / "examples" / "my.yaml").read_text(encoding="utf-8")
    for page in ("guide/profiles.md", "zh/guide/profiles.md"):
        found: list[Any] = [b.body for b in blocks((DOCS / page).read_text(encoding="utf-8")) if b.value == "my.yaml"]
        assert found == [text]


@pytest.mark.parametrize("args", [("check", "s.sh"), ("init", "--from", "s.sh")])
def test_without_the_parser_the_message_says_what_to_install(args: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text("vllm serve m\n")
    code = "import sys; sys.modules['tree_sitter'] = None; from pd_launch.launcher.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: shell scripts need a parser: pip install tree-sitter tree-sitter-bash")


def test_every_promise_names_a_test_that_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    file, count = "", 0
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", text):
        file = path or file
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), (file, name)
        count += 1
    assert count >= 10
