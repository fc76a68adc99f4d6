#!/usr/bin/env python3
"""Write the generated parts of docs/: rules' pages in both languages, tables of releases, commands, schemas, man page.

usage: build_docs.py [--check]      with --check nothing is written; status 1 if anything would change
"""

from __future__ import annotations

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs_changes import changes_page  # noqa: E402
from docs_commands import commands_page, man_page  # noqa: E402
from docs_facts import facts_page  # noqa: E402
from docs_tables import profile_page, releases_page  # noqa: E402

from pd_launch.launcher.commands.rules import schema_text  # noqa: E402
from pd_launch.launcher.rules.pages import markdown  # noqa: E402
from pd_launch.launcher.rules.registry import FAMILIES, all_rules  # noqa: E402
from pd_launch.schemas.core.severity import SEVERITIES  # noqa: E402

HEAD = {
    "en": "# Rules\n\nGenerated from the rules' own text by `scripts/build_docs.py`. [中文](../zh/rules/README.md)\n",
    "zh": "# 规则\n\n由 `scripts/build_docs.py` 根据规则自身的说明生成。[English](../../rules/README.md)\n",
}
COLUMNS = {"en": "| Code | Name | Severity | What it is about |", "zh": "| 代码 | 名称 | 级别 | 内容 |"}


def index(lang: str) -> str:
    """Return the table of all rules."""
    parts = [HEAD[lang]]
    family = ""
    for rule in all_rules().values():
        if rule.code[:3] != family:
            family = rule.code[:3]
            parts.append(f"\n## {family} {FAMILIES[family].text(lang)}\n\n{COLUMNS[lang]}\n|---|---|---|---|\n")
        page = rule.page_in(lang)
        title = page["title"].replace("|", "\\|")
        severity = SEVERITIES[rule.severity].text(lang)
        parts.append(f"| [{rule.code}]({rule.code}.md) | {rule.name} | {severity} | {title} |\n")
    return "".join(parts)


def generated() -> dict[pathlib.Path, str]:
    """Return every generated file with its text."""
    files: dict[pathlib.Path, str] = {}
    for lang, folder in (("en", ROOT / "docs" / "rules"), ("zh", ROOT / "docs" / "zh" / "rules")):
        files[folder / "README.md"] = index(lang)
        for rule in all_rules().values():
            files[folder / f"{rule.code}.md"] = markdown(rule, lang)
    for name in ("profile", "config", "report", "plan", "logs", "simulate", "status", "upgrade"):
        files[ROOT / "docs" / "schemas" / f"{name}.schema.json"] = schema_text(name)
    files[ROOT / "docs" / "reference" / "commands.md"] = commands_page()
    files[ROOT / "docs" / "reference" / "profile.md"] = profile_page()
    files[ROOT / "docs" / "releases.md"] = releases_page("en")
    files[ROOT / "docs" / "zh" / "releases.md"] = releases_page("zh")
    files[ROOT / "docs" / "changes.md"] = changes_page("en")
    files[ROOT / "docs" / "zh" / "changes.md"] = changes_page("zh")
    files[ROOT / "docs" / "facts.md"] = facts_page()
    files[ROOT / "docs" / "man" / "pd-launch.1"] = man_page()
    return files


def main() -> int:
    """Write what is not as it should be, or say it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if anything would change")
    arguments = parser.parse_args()
    files = generated()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    gone = [path for folder in {p.parent for p in files} for path in folder.glob("PD*.md") if path not in files]
    for path in stale + gone:
        print(path.relative_to(ROOT))
    if arguments.check:
        return int(bool(stale or gone))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    for path in gone:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
