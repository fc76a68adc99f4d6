"""Twins of the rules' fixtures: the same engines, written in every quoting and every form that is read.

A form is a function of a fixture that gives the files of its twin, or None where the form cannot express the fixture.
Two kinds: *kept* forms change the text of a script (its quotes, what is around it) and keep its comments and lines;
*made* forms write anew what the script starts: its words and variables, as the reader of scripts sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fixture import Files, Fixture, is_harmless
from form_twins import (
    config_map,
    deployment,
    dockerfile,
    e2e,
    leader_worker_set,
    makefile,
    manifests,
    notebook,
    pod,
    ray_cluster,
    supervisord,
    template,
    unit_shell,
)
from kept_twins import as_crlf, crlf, double_json, kept, kept_handed, kept_heredoc, kept_in
from python_twins import called, run_list, run_text, run_with_env
from shell_twins import (
    Writer,
    ansi,
    around,
    bare,
    behind_env,
    by_function,
    by_turns,
    dense,
    docker,
    double,
    double_continued,
    double_on_lines,
    handed,
    heredoc,
    in_array,
    in_variables,
    on_lines,
    single,
    value_apart,
    words_changed,
    written,
)
from yaml_twins import (
    Flow,
    Folded,
    Literal,
    as_words,
    changed_words,
    command_of,
    compose,
    config_file,
    handed_double,
    handed_folded,
    handed_literal,
    handed_word,
    in_brackets,
    kubernetes,
    loose,
    profile,
    restyled,
    systemd,
)


@dataclass(frozen=True)
class Twin:
    """A fixture in one form. ``runs`` says whether bash may run its scripts with a stand-in for the engine."""

    fixture: Fixture
    form: str
    files: Files
    runs: bool = False

    def __str__(self) -> str:
        return f"{self.fixture.code}/{self.fixture.name} as {self.form}"


def twin_of(fixture: Fixture, name: str) -> Twin | None:
    """Return a fixture's twin in the form of that name; None where the form cannot express it."""
    form = FORMS[name]
    files = form.write(fixture)
    runs = form.runs and (form.made or is_harmless(fixture.script))
    return None if files is None else Twin(fixture, name, files, runs)


@dataclass(frozen=True)
class Form:
    """A form: what writes it, and whether bash can run it; ``made`` of words that are all known, not kept."""

    write: Callable[[Fixture], Files | None]
    runs: bool = True
    made: bool = True


def _itself(fixture: Fixture) -> Files:
    return fixture.files


_ONE_LINE: dict[str, Any] = {"between": " "}
_RUN = "subprocess.run({}, shell=True)"

FORMS: dict[str, Form] = {
    "itself": Form(_itself, made=False),
    "kept double": Form(kept(double_json), made=False),
    "kept function": Form(kept(kept_in("start() {", "}\nstart")), made=False),
    "kept if": Form(kept(kept_in("if true; then", "fi")), made=False),
    "kept heredoc quoted": Form(kept(kept_heredoc(True)), made=False),
    "kept heredoc": Form(kept(kept_heredoc(False)), made=False),
    "kept bash -c '": Form(kept(kept_handed(single)), made=False),
    'kept bash -c "': Form(kept(kept_handed(double)), made=False),
    "kept crlf": Form(kept(crlf), runs=False, made=False),
    "kept double crlf": Form(kept(lambda text: crlf(double_json(text))), runs=False, made=False),
    "bare": Form(written(quote=bare)),
    "bare one line": Form(written(quote=bare, **_ONE_LINE)),
    "single": Form(written(quote=single)),
    "double": Form(written(quote=double)),
    "ansi": Form(written(quote=ansi)),
    "by turns": Form(written(quote=by_turns)),
    "value apart": Form(written(quote=value_apart)),
    "every word single": Form(written(quote=single, every=True, **_ONE_LINE)),
    "every word double": Form(written(quote=double, every=True)),
    "every word ansi": Form(written(quote=ansi, every=True)),
    "glued single": Form(written(quote=single, glued=True)),
    "glued double": Form(written(quote=double, glued=True)),
    "lines single": Form(words_changed(on_lines, quote=single)),
    "lines double": Form(words_changed(on_lines, quote=double)),
    "lines ansi": Form(words_changed(on_lines, quote=ansi)),
    "continued": Form(written(quote=double_continued)),
    "dense double": Form(words_changed(dense, quote=double)),
    "dense bare": Form(words_changed(dense, quote=bare)),
    "inline variables": Form(written(quote=double, inline=True)),
    "exec": Form(written(inline=True, prefix="exec vllm serve"), runs=False),
    "env": Form(behind_env),
    "array": Form(in_array),
    "variables single": Form(in_variables(single)),
    "variables double": Form(in_variables(double)),
    "variables lines": Form(in_variables(double_on_lines)),
    "function": Form(around("start() {", "}\nstart", quote=double)),
    "function arguments": Form(by_function),
    "if": Form(around("if true; then", "fi", quote=double_on_lines)),
    "for": Form(around("for rank in 0; do", "done")),
    "bash -c '": Form(handed("bash -c", single)),
    'bash -c "': Form(handed("bash -c", double)),
    "bash -c ' of double": Form(handed("bash -c", single, quote=double)),
    'bash -c " of double': Form(handed("bash -c", double, quote=double, **_ONE_LINE)),
    "bash -c ansi": Form(handed("bash -c", ansi, **_ONE_LINE)),
    "eval '": Form(handed("eval", single)),
    'eval "': Form(handed("eval", double, quote=double)),
    "ssh '": Form(handed("ssh host1", single, quote=double, **_ONE_LINE)),
    'ssh "': Form(handed("ssh host1", double, **_ONE_LINE)),
    "heredoc quoted": Form(heredoc("cat > engine.sh", True, "bash engine.sh\n")),
    "heredoc": Form(heredoc("cat > engine.sh", False, "bash engine.sh\n")),
    "heredoc of double": Form(heredoc("cat > engine.sh", False, quote=double)),
    "heredoc of lines": Form(heredoc("cat > engine.sh", False, quote=double_on_lines)),
    "heredoc for bash": Form(heredoc("bash", False)),
    "heredoc for ssh": Form(heredoc("ssh host1 bash -s", True, quote=double)),
    "docker": Form(docker()),
    "docker bash '": Form(docker(single)),
    'docker bash "': Form(docker(double)),
    "podman": Form(docker(program="podman")),
    "nerdctl": Form(docker(program="nerdctl")),
    "crlf single": Form(as_crlf(written(quote=single, **_ONE_LINE)), runs=False),
    "crlf lines": Form(as_crlf(words_changed(on_lines, quote=single)), runs=False),
    "crlf array": Form(as_crlf(in_array), runs=False),
    "crlf heredoc": Form(as_crlf(heredoc("cat > engine.sh", False, quote=double_on_lines)), runs=False),
    "kubernetes": Form(kubernetes(as_words)),
    "kubernetes single": Form(kubernetes(as_words, default_style="'")),
    "kubernetes double": Form(kubernetes(as_words, default_style='"')),
    "kubernetes flow": Form(kubernetes(in_brackets)),
    "kubernetes flow double": Form(kubernetes(in_brackets, default_style='"')),
    "kubernetes json": Form(kubernetes(as_words, default_flow_style=True)),
    "kubernetes lines": Form(kubernetes(changed_words)),
    "kubernetes lines blocks": Form(kubernetes(changed_words, default_style="|")),
    "kubernetes lines double": Form(kubernetes(changed_words, default_style='"')),
    "kubernetes bash |": Form(kubernetes(handed_literal)),
    "kubernetes bash | double": Form(kubernetes(handed_double)),
    "kubernetes bash >": Form(kubernetes(handed_folded, folded=True)),
    "kubernetes bash word": Form(kubernetes(handed_word)),
    "kubernetes bash word double": Form(kubernetes(handed_word, default_style='"')),
    "kubernetes crlf": Form(as_crlf(kubernetes(handed_literal)), runs=False),
    "json manifest": Form(manifests(pod, as_json=True)),
    "deployment": Form(manifests(deployment)),
    "LeaderWorkerSet": Form(manifests(leader_worker_set)),
    "RayCluster": Form(manifests(ray_cluster)),
    "ConfigMap": Form(config_map(["bash", "/scripts/serve.sh"])),
    "ConfigMap double": Form(config_map(["/scripts/serve.sh"], quote=double)),
    "e2e": Form(e2e(as_list=False)),
    "e2e list": Form(e2e(as_list=True)),
    "compose list": Form(compose(lambda e: ["vllm", "serve", *e.words], mapping=True)),
    "compose list double": Form(
        compose(lambda e: ["vllm", "serve", *e.words], mapping=False, default_style='"', default_flow_style=False)
    ),
    "compose flow": Form(compose(lambda e: Flow(["vllm", "serve", *e.words]), mapping=False)),
    "compose string": Form(compose(command_of, mapping=False)),
    "compose string double": Form(compose(command_of, mapping=True, default_style='"')),
    "compose folded": Form(compose(lambda e: Folded(command_of(e)), mapping=True, folded=True)),
    "compose literal": Form(compose(lambda e: Literal(command_of(e)), mapping=False)),
    "compose bash |": Form(compose(lambda e: ["bash", "-c", Literal(Writer().command(e) + "\n")], mapping=True)),
    "values list": Form(loose(as_words)),
    "values double": Form(loose(as_words, default_style='"')),
    "values script": Form(loose(lambda e: {"script": Literal(Writer().command(e) + "\n")})),
    "values folded": Form(loose(lambda e: {"script": Folded(Writer(between=" ").command(e) + "\n")})),
    "config objects": Form(config_file(True)),
    "config objects double": Form(config_file(True, default_style='"')),
    "config flow": Form(config_file(True, default_flow_style=True)),
    "config texts": Form(config_file(False)),
    "config texts double": Form(config_file(False, default_style='"')),
    "systemd '": Form(systemd("'")),
    'systemd "': Form(systemd('"')),
    "systemd shell": Form(unit_shell),
    "supervisord": Form(supervisord),
    "Dockerfile": Form(dockerfile(as_json=True)),
    "Dockerfile shell": Form(dockerfile(as_json=False)),
    "Makefile": Form(makefile),
    "template": Form(template()),
    "template double": Form(template(quote=double)),
    "notebook": Form(notebook(magic=False)),
    "notebook bash": Form(notebook(magic=True)),
    "profile": Form(profile()),
    "profile double": Form(profile(default_style='"')),
    "profile flow": Form(profile(default_flow_style=True)),
    "yaml single": Form(restyled(default_style="'"), made=False),
    "yaml double": Form(restyled(default_style='"'), made=False),
    "yaml flow": Form(restyled(default_flow_style=True), made=False),
    "LLM": Form(called("LLM", False, '"', None)),
    "LLM lines": Form(called("LLM", False, "'", 8)),
    "LLM transfer": Form(called("LLM", True, '"', None)),
    "EngineArgs": Form(called("EngineArgs", True, "'", None)),
    "AsyncEngineArgs": Form(called("AsyncEngineArgs", False, '"', 8)),
    'list "': Form(run_list('"')),
    "list '": Form(run_list("'", between=", ")),
    "list three": Form(run_list('"""')),
    "list pieces": Form(run_list("pieces")),
    "list dumped": Form(run_list('"', dumped=True)),
    "list dumped '": Form(run_list("'", dumped=True, between=", ")),
    "list env": Form(run_with_env(split=False)),
    "shlex": Form(run_with_env(split=True)),
    'os.system "': Form(run_text("os.system({})", '"', **_ONE_LINE)),
    "os.system '": Form(run_text("os.system({})", "'", quote=double, **_ONE_LINE)),
    "os.system three": Form(run_text("os.system({})", '"""')),
    "os.system three double": Form(run_text("os.system({})", "'''", quote=double_on_lines)),
    "os.system raw": Form(run_text("os.system({})", 'r"""', **_ONE_LINE)),
    "os.system f": Form(run_text("os.system({})", 'f"', **_ONE_LINE)),
    "os.system f three": Form(run_text("os.system({})", "f'''", quote=double)),
    "os.system pieces": Form(run_text("os.system({})", "pieces", **_ONE_LINE)),
    'shell "': Form(run_text(_RUN, '"', quote=double, **_ONE_LINE)),
    "shell three": Form(run_text(_RUN, '"""', quote=double)),
    "shell percent": Form(run_text("os.system({} % ())", '"', **_ONE_LINE)),
}
"""All forms by name, in the order in which they are tried."""
