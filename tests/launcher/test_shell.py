"""Shell scripts: what each command is given, where every word was written, and bounded work on hostile scripts."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pd_launch.launcher.sources.engine.engines import scripts_inside
from pd_launch.launcher.sources.shell.follow import MAX_COMMANDS, Command, Script, read_shell
from pd_launch.schemas.core.values import HOLE, SourceFile, Text


def follow(text: str) -> Script:
    return read_shell(Text.verbatim(SourceFile("f.sh", text), 0, len(text)))


def shown(word: Text) -> str:
    return word.value.replace(HOLE, "¿")


def runs(text: str) -> list[list[str]]:
    """The words of each command named ``run``, without its name; an unknown part is ¿."""
    return [[shown(w) for w in c.words[1:]] for c in follow(text).commands if c.words[0].value == "run"]


def environment(text: str) -> dict[str, str]:
    command: Command = [c for c in follow(text).commands if c.words[0].value == "run"][-1]
    return {name: shown(value) for name, (value, _) in command.env.items()}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('run a\\ b \'c d\' "e\\"f\\n" "h\\$X" i\\\nj', ["a b", "c d", 'e"f\\n', "h$X", "ij"]),
        ("run $'a\\n\\x41\\u00e4\\101\\'\\q'", ["a\nAäA'q"]),
        ("run '' \"\" \"\"x''", ["", "", "x"]),
        ("run \\\n  --a 1 \\\n  --b '2\n3'", ["--a", "1", "--b", "2\n3"]),
        (
            "V=1; run '{\"a\": \"'$V'\"}' '{\"b\": \"'\"$V\"'\"}' '{\"c\": '$W'}'",
            ['{"a": "1"}', '{"b": "1"}', '{"c": ¿}'],
        ),
        ('A=\'x y\'; run $A "$A" p$A"q"', ["x", "y", "x y", "px", "yq"]),
        ("A=1 B=2; run $A$B/${A}x $C", ["12/1x", "¿"]),
        ("A=1; A+=2; A=$A$A; run $A", ["1212"]),
        ('Y=; run "$Y" $Y end', ["", "end"]),
        (
            "A=(--x '2 3'); A+=(--z); run \"${A[@]}\" ${A[@]} p${A[@]}q",
            ["--x", "2 3", "--z", "--x", "2 3", "--z", "p--x", "2 3", "--zq"],
        ),
        ('run ${X:-d} ${X-e} ${X:=f} "${X:-a b}"', ["d", "e", "f", "f"]),
        ("X=1; run ${X:-d} ${X:+q} ${X#1} ${#X} ${X[0]}", ["1", "q", "1", "¿"]),
        ('X=; run ${X:-d} "${X-e}"', ["d", ""]),
        ("X=${X:-3}; run $X", ["3"]),
        (
            "A=7; run $((A/2)) $((A%4)) $((A*(2+1))) $(($A-8)) $[A+1] $((B+1)) $((A/0))",
            ["3", "3", "21", "-1", "8", "¿", "¿"],
        ),
        ('run $(seq 3) "$(seq 2 3)" $(seq 6 -2 2) $(hostname) `date`', ["1", "2", "3", "2 3", "6", "4", "2", "¿", "¿"]),
        ("run ~ $HOME $? $$ $0 x{1..3}", ["~", "¿", "¿", "¿", "¿", "x1", "x2", "x3"]),
        ("run a # b\n", ["a"]),
        ("run b#c '#d'", ["b#c", "#d"]),
        ("run 模型 --x 'ü' \U0001f600", ["模型", "--x", "ü", "\U0001f600"]),
        ("run a > log 2>&1 < in", ["a"]),
        ("unset A; A=1; unset A; run $A", ["¿"]),
        ("read A < f; B=1; read -r B; run $A $B", ["¿", "¿"]),
        ("A=1; ((A++)); B=1; let B+=1; C=1; ((C=5)); printf -v D x; run $A $B $C $D", ["2", "2", "5", "x"]),
        ("A=$((32<<30)); B=$((2**5)); let C=B*2 'D = C - 1'; run $A $B $C $D", ["34359738368", "32", "64", "63"]),
        ("(( A = 1 << 4 )); (( B = A > 5 ? 3 : 4, C = 7 )); run $A $B $C", ["16", "3", "7"]),
        ("A=0x10; N=(a b c); M='2*3'; run $((A+1)) $((${#N[@]}*2)) $((M+1)) $(((1+2)*3))", ["17", "6", "7", "9"]),
        ("A=1; run $((A++)) $A $((NOPE+1)) $((1/0)) $((1<<64)) $((9**99)) $((a b))", ["1", *["¿"] * 6]),
        ("A=$(cat <<E\n$((3 * 1024)) $(( (1+1) << 3 ))\nE\n); run $A", ["3072", "16"]),
        ("declare -i A=2*3; A+=1; typeset -i B; B='1<<4'; declare -ix C=x; run $A $B $C", ["7", "16", "¿"]),
        ("A=$(expr 2 \\* 3); B=$(echo '2*3^2' | bc); run $A $B $(python3 -c 'print(2**5)')", ["6", "18", "32"]),
        ("run $(expr length abc) $(echo 1/3 | bc -l) $(python3 -c 'print(x)') $(echo 7)", ["¿", "¿", "¿", "7"]),
        ("A=(\n  -a 1\n  # not a word\n  -b 2 # nor this\n); run ${A[@]}", ["-a", "1", "-b", "2"]),
        ("run a `# don't` b \\\n `# more` c", ["a", "b", "c"]),
        ('A="${A:-}"; B="${B-}"; run "$A" "${C:-}" ${D:-d} "$B"', ["¿", "¿", "d", "¿"]),
        ('A=; run "${A:-}" "x${A:-}"', ["", "x"]),
        (
            "run {{ a }} x{{ b | default('c d') }} {% raw %} @TP@ %TP% <%= c %> {# d #}",
            ["¿", "x¿", "¿", "¿", "¿", "¿", "¿"],
        ),
        ("{% if a %}\nA=1\n{% endif %}\nrun $A \\\n{%- if b %}\n b \\\n{%- endif %}\n c", ["1", "b", "c"]),
        ("if [ $1 = a ]; then A=1; B=1; else A=2; B=1; fi; run $A $B", ["¿", "1"]),
        ('A="-a 1"; if x; then A="$A -b"; fi; run $A end', ["-a", "1", "¿", "end"]),
        ("A=(-a 1); if x; then A+=(-b); fi; if y; then A+=(-c); fi; run ${A[@]} end", ["-a", "1", "¿", "¿", "end"]),
        ("A=1; if x; then A=1; fi; if x; then B=1; fi; run $A $B", ["1", "¿"]),
        ("case $1 in a) A=1;; *) A=1;; esac; case $1 in a) B=1;; b) B=2;; esac; run $A $B", ["1", "¿"]),
        ('[ -z "$X" ] && X=5; [[ -n $Y ]] && Y=6; test -f z && Z=7; run $X $Y $Z', ["¿", "¿", "¿"]),
        ("W=1; x || W=2; cd d && V=3; run $W $V", ["¿", "3"]),
        ("A=1; while read l; do A=2; done < f; run $A", ["¿"]),
        ("A=1; (A=2); { B=3; }; run $A $B", ["1", "3"]),
        ("f() { local X=$1; Y=$X; }; X=0; f 5; run $X $Y", ["0", "5"]),
        ("A=1; export A; declare B=2; readonly C=3; run $A $B $C", ["1", "2", "3"]),
    ],
)
def test_words(script: str, words: list[str]) -> None:
    assert runs(script) == [words]


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        ("for i in {0..2}; do run $i $((8000+i)); done", [["0", "8000"], ["1", "8001"], ["2", "8002"]]),
        ("for i in $(seq 0 1); do run $i; done", [["0"], ["1"]]),
        ("L='a b'; for i in $L c; do run $i; done", [["a"], ["b"], ["c"]]),
        ("for ((i=0;i<2;i++)); do run $((i*2)); done", [["0"], ["2"]]),
        ("for ((i=0;i<6;i+=3)); do run $i; done", [["0"], ["3"]]),
        ("for ((i=0;i<N;i++)); do run $i; done", [["¿"]]),
        ("for i in *.txt $X; do run $i; done", [["*.txt"], ["¿"]]),
        ("for i; do run $i; done", [["¿"]]),
        ('f() { run $1 ${2} "$@"; }\nf m 8000\nf n', [["m", "8000", "m", "8000"], ["n", "¿", "n"]]),
        ("function f { run $1; }; f a", [["a"]]),
        ("if x; then run a; elif y; then run b; else run c; fi", [["a"], ["b"], ["c"]]),
        ("case $1 in a) run a;; b|c) run b;; esac", [["a"], ["b"]]),
        ("run a & run b && run c || run d | run e; ! run f; { run g; }; (run h)", [[c] for c in "abcdefgh"]),
        ("if [ x ]; then A=1; run $A; else A=2; run $A; fi", [["1"], ["2"]]),
        ("until false; do run a; done", [["a"]]),
        ("f() { f; run a; }; true", []),
    ],
)
def test_calls(script: str, calls: list[list[str]]) -> None:
    assert runs(script) == calls


@pytest.mark.parametrize(
    ("script", "env"),
    [
        ("export A=1 B='x y'; C=3; export C; N=0; D=4 run", {"A": "1", "B": "x y", "C": "3", "D": "4"}),
        ("export A=1; A=2 run", {"A": "2"}),
        ("export A=1; A=2; run", {"A": "2"}),
        ("export A=1; unset A; run", {}),
        ("declare -x A=1; typeset -x B=2; readonly C=3; run", {"A": "1", "B": "2"}),
        ("N=0; set -a; A=1; set +a; B=2; run", {"A": "1"}),
        ("set -o allexport; A=1; set +o allexport; B=2; run", {"A": "1"}),
        ("set -euo pipefail; A=1; run", {}),
        ("export A=${A:-1},2; export B=$(hostname); export D; run", {"A": "1,2", "B": "¿"}),
        ("(export A=1; run); true", {"A": "1"}),
        ("(export A=1); run", {}),
        ("export A=1\r\nrun\r\n", {"A": "1"}),
    ],
)
def test_environment(script: str, env: dict[str, str]) -> None:
    assert environment(script.replace("run", "run vllm")) == env  # what cannot matter is given none


WORDS = st.lists(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Co", "Zl", "Zp"]) | st.sampled_from(" '\"\\$`#!&"), max_size=12
    ),
    min_size=1,
    max_size=5,
)


@given(WORDS)
def test_quoted_words_as_the_shell_reads_them(words: list[str]) -> None:
    script = "run " + shlex.join(words) + "\n"
    assert shlex.split(script)[1:] == words
    [command] = follow(script).commands
    assert [w.value for w in command.words[1:]] == words
    for word in command.words[1:]:
        for character, spot in zip(word.value, word.spots, strict=False):
            assert script[spot] == character


@pytest.mark.parametrize(
    ("script", "index", "place"),
    [
        ("run a\n", 1, (1, 5, 1, 6)),
        ("\n  run \\\n   'b c' d\n", 1, (3, 5, 3, 8)),
        ("# 模型\nrun 模 'ü' x\n", 3, (2, 11, 2, 12)),
        ('run "a\nb" c\n', 1, (1, 6, 2, 2)),
        ("A=val\nrun $A\n", 1, (1, 3, 1, 6)),
        ("run x${A:-dd}\n", 1, (1, 5, 1, 13)),
        ("run $(hostname)\n", 1, (1, 5, 1, 6)),
        ("for i in 7 8; do run $i; done\n", 1, (1, 10, 1, 11)),
        ("f() { run $1; }\nf abc\n", 1, (2, 3, 2, 6)),
        ('run "" x\n', 2, (1, 8, 1, 9)),
    ],
)
def test_places(script: str, index: int, place: tuple[int, int, int, int]) -> None:
    command = next(c for c in follow(script).commands if c.words[0].value == "run")
    origin = command.words[index].origin()
    assert (origin.line, origin.column, origin.end_line, origin.end_column) == place


@pytest.mark.parametrize(
    ("script", "place", "word"),
    [
        ("run 'x\n", (1, 5), "this quote (') is never closed"),
        ('run a\nrun "x\n', (2, 5), 'this quote (") is never closed'),
        ("run $'x\n", (1, 6), "this quote (') is never closed"),
        ("run a \\  \n --b\n", (1, 7), "blanks after the backslash"),
        ("run a \\\t\n --b\n", (1, 7), "blanks after the backslash"),
        ("run a\nrun \u2014port 1\n", (2, 5), "the typographic sign"),
        ("run \u201ca\u201d\n", (1, 5), "the typographic sign"),
    ],
)
def test_faults_of_the_text(script: str, place: tuple[int, int], word: str) -> None:
    faults = follow(script).faults
    assert [(f.origin.line, f.origin.column) for f in faults] == [place]
    assert faults[0].kind == "shell" and word in faults[0].detail.en and faults[0].help


@pytest.mark.parametrize(
    "script",
    [
        "run 'it'\\''s' \"a'b\" # don't\n",
        "cat <<EOF\nit's \"one\nEOF\nrun a\n",
        "cat <<-'E'\n\tdon't\n\tE\nrun a\n",
        "run a \\\n  b\n",
        'run "a \\  \n b"\n',
        "run 'a \\  \n b'\n",
        "run ${A:-'x'} $'it\\'s'\n",
        "run a<<<'x'\n",
    ],
)
def test_correct_text_has_no_faults(script: str) -> None:
    assert not follow(script).faults


def test_the_fix_of_a_trailing_blank_takes_away_just_the_blanks() -> None:
    [fault] = follow("run a \\ \t\n --b\n").faults
    [(origin, text)] = fault.fix
    assert (origin.column, origin.end_column, text, fault.fix_is_safe) == (8, 10, "", True)


@pytest.mark.parametrize(
    ("script", "inside"),
    [
        ("bash -c 'vllm serve m'", ["vllm serve m"]),
        ('nohup sh -lc "vllm serve m" &', ["vllm serve m"]),
        ("bash -s <<'EOF'\nvllm serve m\nEOF\n", ["vllm serve m\n"]),
        ("ssh host <<EOF\nvllm serve m\nEOF\n", ["vllm serve m\n"]),
        ("cat <<EOF > notes.txt\nvllm serve m\nEOF\n", []),
    ],
)
def test_scripts_inside_commands(script: str, inside: list[str]) -> None:
    found = [text.value for command in follow(script).commands for text in scripts_inside(command)]
    assert found == inside


@pytest.mark.parametrize(
    "script",
    [
        "(" * 3000 + "run" + ")" * 3000,
        "run $((" + "(" * 3000 + "1" + ")" * 3000 + "))",
        "run " + "$(echo " * 1500 + ")" * 1500,
        "".join(f"for a{i} in {{1..256}}; do " for i in range(4)) + "X=1; " + "done; " * 4,
        "x=ab\n" + "x+=$x\n" * 40 + "run $x",
        "x=ab\n" + "x=$x$x\n" * 40 + "run $x",
        "a=(1 2)\n" + 'a+=("${a[@]}")\n' * 40 + "run",
        "f() { f; f; f; }\nf\n",
        "run a\n" * (2 * MAX_COMMANDS),
        "vllm serve a\n" * (2 * MAX_COMMANDS),
        "if a; then " * 300 + "run" + "; fi" * 300,
        "for ((i=0;i<9;i--)); do run; done",
        "$(" * 500,
        "run \x00 \ud800",
    ],
    ids=range(14),
)
def test_hostile_scripts_end_soon(script: str) -> None:
    begin = time.process_time()
    assert sum("vllm" in word.value for c in follow(script).commands for word in c.words[:1]) <= MAX_COMMANDS
    assert time.process_time() - begin < 20


@given(st.text(st.sampled_from(" \n'\"\\$(){}[]=;|&<>#`!*?~-abX1\r\t模"), max_size=40))
def test_any_text_is_followed(script: str) -> None:
    for command in follow(script).commands:
        for word in command.words:
            assert word.origin().line >= 1
            assert len(word.spots) == len(word.value) + 1
