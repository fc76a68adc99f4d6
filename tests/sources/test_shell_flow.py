"""What scripts do with words before an engine gets them: eval, shift, inner shells, placeholders of guides."""

from __future__ import annotations

import pytest
from reading import deployment, flag, launch, value, variables

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.shell.follow import read_shell
from pd_launch.schemas.core.values import HOLE, SourceFile, Text


def test_eval_runs_what_a_variable_holds() -> None:
    text = 'CMD="A=1 vllm serve m \\\n  --max-num-seqs 8"\nexport B=2\neval "$CMD &"\n'
    node, _ = launch(text)
    assert value(node, "max-num-seqs") == 8 or value(node, "max-num-seqs") == "8"
    assert variables(node)["A"] == "1" and variables(node)["B"] == "2"


def test_eval_joins_its_words() -> None:
    node, _ = launch("eval vllm serve m '--max-num-seqs 8'\n")
    assert str(value(node, "max-num-seqs")) == "8"


def test_an_inner_shell_has_what_was_exported() -> None:
    node, _ = launch('export A=1\nB=2\nbash -c "vllm serve m"\n')
    assert variables(node) == {"A": "1"}
    node, _ = launch('export A=1\nssh node "vllm serve m"\n')
    assert variables(node) == {}


def test_shift_moves_what_a_function_is_given() -> None:
    text = 'run() { local name=$1; shift; vllm serve "$1" "${@}"; }\nrun first m --max-num-seqs 8\n'
    node, _ = launch(text)
    assert node.model is not None and node.model.value == "m"
    text = 'run() { shift 2; vllm serve m "$@" & }\nrun a b --max-num-seqs 8\nrun a b --max-num-seqs 4\n'
    assert [str(value(node, "max-num-seqs")) for node in deployment({"a.sh": text}).nodes] == ["8", "4"]


@pytest.mark.parametrize("written", ["<MODEL>", "<model path>", "<node0_ip>", "<1_OR_2>"])
def test_angle_brackets_are_a_placeholder_and_no_redirection(written: str) -> None:
    node, _ = launch(f"vllm serve m --host {written} --port 8000\n")
    assert value(node, "host") == written and str(value(node, "port")) == "8000"
    assert value(launch(f"export A=1\nvllm serve m --host {written}")[0], "host") == written


def test_redirections_stay_what_they_are() -> None:
    node, _ = launch("while read -r l; do :; done <list >out\nvllm serve m --port 8000 <in >out 2>&1\n")
    assert [arg.written for arg in node.args] == ["--port"]


def test_only_one_rule_speaks_of_a_placeholder() -> None:
    text = "vllm serve <MODEL> --port <port> --max-num-seqs <n> --tensor-parallel-size xxxx ...\n"
    assert {f.code for f in check(read_texts({"a.sh": text}, "vllm:0.32.0"))} == {"PD707"}


def test_a_call_for_help_is_no_engine() -> None:
    assert {f.code for f in check(read_texts({"a.sh": "vllm serve --help=all\n"}, "vllm:0.32.0"))} == {"PD010"}
    assert len(deployment({"a.sh": "vllm serve --help\nvllm serve m\n"}).nodes) == 1


def test_xargs_kill_stops_what_was_started() -> None:
    text = "vllm serve a --port 8000 &\npgrep vllm | xargs kill -9\nvllm serve b --port 8000 &\n"
    assert "PD405" not in {f.code for f in check(read_texts({"a.sh": text}))}


def test_an_empty_array_in_quotes_is_no_word() -> None:
    for text in (
        'ARGS=()\nvllm serve m "${ARGS[@]}"\n',
        'run() { vllm serve "$1" "${@:2}"; shift; vllm serve m "$@"; }\nrun m\n',
    ):
        for node in deployment({"a.sh": text}).nodes:
            assert not node.args


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("vllm serve m --host a\\\nb --port 80\n", "ab", "80"),
        ("vllm serve m --host a\\\n  --port 80\n", "a", "80"),
        ("vllm serve m --host a --port 8\\\n0\\\n0\n", "a", "800"),
        ("# a comment\\\nvllm serve m --host a --port 80\n", "a", "80"),
        ("vllm serve m --host 'a#b'\\\nc --port 80\n", "a#bc", "80"),
    ],
)
def test_a_word_goes_on_behind_a_backslash_without_blanks(text: str, host: str, port: str) -> None:
    node, _ = launch(text)
    assert (value(node, "host"), str(value(node, "port"))) == (host, port)


def test_flags_glued_over_two_lines_are_one_word() -> None:
    text = "vllm serve m --max-num-seqs 16\\\n--port 8000\n"
    assert "PD007" in {f.code for f in check(read_texts({"a.sh": text}, "vllm:0.32.0"))}


@pytest.mark.parametrize(
    "text",
    [
        "conda run --no-capture-output -n env vllm serve m --max-num-seqs 8",
        "uv run --with x python -m vllm.entrypoints.openai.api_server --model m --max-num-seqs 8",
        "kubectl exec pod -- vllm serve m --max-num-seqs 8",
        "nsys profile -o r --trace cuda vllm serve m --max-num-seqs 8",
        "run_logged decode vllm serve m --max-num-seqs 8 &",
        "tmux new-session -d -s p 'vllm serve m --max-num-seqs 8'",
        "screen -dmS p bash -c 'vllm serve m --max-num-seqs 8'",
        "su - user -c 'vllm serve m --max-num-seqs 8'",
    ],
)
def test_programs_that_are_not_known_carry_an_engine(text: str) -> None:
    assert str(value(launch(f"{text}\n")[0], "max-num-seqs")) == "8"


@pytest.mark.parametrize(
    "text", ["echo vllm serve m", "pgrep -f vllm serve", "log 'now vllm serve m'", "pkill vllm serve"]
)
def test_who_speaks_of_an_engine_starts_none(text: str) -> None:
    assert not deployment({"a.sh": f"{text}\n"}).nodes


def test_an_engine_on_another_machine_shares_none() -> None:
    text = "kubectl exec a -- vllm serve m --port 8000 &\nkubectl exec b -- vllm serve m --port 8000 &\n"
    assert "PD405" not in {f.code for f in check(read_texts({"a.sh": text}))}


def test_a_unit_may_start_a_shell() -> None:
    text = "[Service]\nEnvironment=A=1\nExecStart=/bin/bash -c 'vllm serve m --max-num-seqs 8'\n"
    node, _ = launch(text, "decode.service")
    assert str(value(node, "max-num-seqs")) == "8" and variables(node) == {"A": "1"}


def test_env_may_set_a_variable_of_unknown_name() -> None:
    node, _ = launch('env "$DEVICES=0" A=1 vllm serve m --max-num-seqs 8\n')
    assert variables(node) == {"A": "1"} and str(value(node, "max-num-seqs")) == "8"


@pytest.mark.parametrize(
    "value_of",
    [
        '$(cat <<EOF\n{"kv_role": "$ROLE"}\nEOF\n)',
        '$(cat <<\'EOF\'\n{"kv_role": "kv_both"}\nEOF\n)',
        "$(printf '%s' '{\"kv_role\": \"kv_both\"}')",
        '$(echo "{\\"kv_role\\": \\"$ROLE\\"}")',
        '$(printf \'{"kv_role": "%s", "kv_port": %d}\\n\' kv_both 30000)',
        "$(kv kv_both)",
        "$(quoted kv_both)",
        "$(document kv_both)",
    ],
)
def test_what_a_substitution_prints(value_of: str) -> None:
    functions = (
        'kv() { printf \'{"kv_role": "%s"}\' "$1"; }\n'
        'quoted() {\n  # the role\n  local role=$1 more\n  echo "{\\"kv_role\\": \\"$role\\"}"\n}\n'
        'document() {\n  cat <<EOF\n{"kv_role": "$1"}\nEOF\n}\n'
    )
    node, found = launch(f'{functions}ROLE=kv_both\nKV={value_of}\nvllm serve m --kv-transfer-config "$KV"\n')
    role = flag(node, "kv-transfer-config").get("kv_role")
    assert role is not None and role.value == "kv_both"
    assert not found.faults


def test_a_here_document_that_is_read_into_a_variable() -> None:
    text = 'read -r -d \'\' KV <<\'EOF\'\n{"kv_role": "kv_both",}\nEOF\nvllm serve m --kv-transfer-config "$KV"\n'
    assert [(f.code, f.line) for f in check(read_texts({"a.sh": text})) if f.code == "PD001"] == [("PD001", 2)]


def test_what_filters_make_of_a_here_document_is_not_known() -> None:
    for made in ("cat <<'EOF' | jq -c .\n{}\nEOF\n", "make_config a", "printf '%05d' 3", "cat file"):
        node, _ = launch(f'KV=$({made})\nvllm serve m --host "$KV"\n')
        assert not flag(node, "host").known


def test_a_function_that_does_more_than_print_is_not_followed() -> None:
    for body in ("curl -s x; echo a", "echo a; echo b", 'echo "$(kv)"', "if true; then echo a; fi"):
        node, _ = launch(f'kv() {{ {body}; }}\nvllm serve m --host "$(kv)"\n')
        assert not flag(node, "host").known


def test_blanks_between_variables_in_a_string_part_words() -> None:
    for text in ('A="$M $F"', 'A="$M  ${F}"', 'A="$M"; A="$A ${F}"'):
        node, _ = launch(f'M="vllm serve m"\nF="--max-num-seqs 8"\n{text}\neval "$A"\n')
        assert node.model is not None and node.model.value == "m", text
        assert str(value(node, "max-num-seqs")) == "8"
    node, _ = launch('A="--max-num-seqs 8"\nif [ -n "$X" ]; then A="$A $X"; fi\nvllm serve m $A\n')
    assert node.partial and str(value(node, "max-num-seqs")) == "8"


def test_a_script_is_written_with_the_file_behind_the_delimiter() -> None:
    body = 'docker exec -d -e A=1 $NAME bash -c "vllm serve m --max-num-seqs 8 > log"'
    for head in ("cat <<EOF > run.sh", "cat > run.sh <<EOF"):
        node, _ = launch(f"{head}\n{body}\nEOF\n")
        assert str(value(node, "max-num-seqs")) == "8"


@pytest.mark.parametrize(
    "choice",
    [
        'case "$1" in\n p) KV={"kv_role":"kv_producer"}; PORT=1 ;;\n d) KV={"kv_role":"kv_consumer"}; PORT=2 ;;\n'
        " *) echo usage; exit 1 ;;\nesac",
        "if [[ $1 == p ]]; then\n ROLE=kv_producer; PORT=1\nelse\n ROLE=kv_consumer; PORT=2\nfi\n"
        'KV="{\\"kv_role\\":\\"$ROLE\\"}"',
        'KV={"kv_role":"kv_producer"}; PORT=1\nif [ "$1" = d ]; then KV={"kv_role":"kv_consumer"}; PORT=2; fi',
    ],
)
def test_what_a_condition_chooses_of_a_side_is_followed_to_the_engine(choice: str) -> None:
    text = choice.replace('={"kv_role"', '=\'{"kv_role"').replace('"}; ', "\"}'; ")
    script = f'start() {{\n{text}\nvllm serve m --port $PORT --kv-transfer-config "$KV"\n}}\nstart "$1"\n'
    for written in (f'{text}\nvllm serve m --port $PORT --kv-transfer-config "$KV"\n', script):
        nodes = deployment({"node.sh": written}).nodes
        assert sorted((n.role, value(n, "port")) for n in nodes) == [("kv_consumer", "2"), ("kv_producer", "1")]
        assert "PD405" not in {f.code for f in check(read_texts({"node.sh": written}))}


def test_a_condition_on_something_else_is_followed_once() -> None:
    text = 'if [ -n "$1" ]; then N=8; else N=4; fi\nvllm serve m --max-num-seqs $N\n'
    node, _ = launch(text)
    assert not flag(node, "max-num-seqs").known


@pytest.mark.parametrize(
    ("first", "second", "hosts"),
    [
        ("srun -w n1", "srun -w n2", ("srun n1", "srun n2")),
        ("srun --nodes 1 --nodelist=n1", "srun -N 1 --nodelist n1", ("srun n1", "srun n1")),
        ("srun -N1", "srun -N1", ("srun \0 of line 1", "srun \0 of line 2")),
    ],
)
def test_a_step_of_slurm_is_on_a_machine_of_its_own(first: str, second: str, hosts: tuple[str, str]) -> None:
    found = deployment({"a.sh": f"{first} vllm serve m &\n{second} vllm serve m &\n"})
    assert tuple(node.host.replace(HOLE, "\0") for node in found.nodes if node.host) == hosts


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("a{1..3}b", ["a1b", "a2b", "a3b"]),
        ("--x=/d{4,15}", ["--x=/d4", "--x=/d15"]),
        ("/d{0,1}:/e", ["/d0:/e", "/d1:/e"]),
        ('"a{1..3}"', ["a{1..3}"]),
        ("a{1}", ["a{1}"]),
        ("1{,2}", ["1", "12"]),
        ("{08..10}{a,}", ["08a", "08", "09a", "09", "10a", "10"]),
    ],
)
def test_braces_make_several_words(written: str, words: list[str]) -> None:
    text = f"echo {written}\n"
    (command,) = read_shell(Text.verbatim(SourceFile("a.sh", text), 0, len(text))).commands
    assert [word.value for word in command.words[1:]] == words


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("$(seq -s, 0 3)", "0,1,2,3"),
        ("$(seq -s ',' 0 $((N-1)))", "0,1"),
        ("$(seq 0 3 | paste -sd, -)", "0,1,2,3"),
        ("$(seq 0 2 6 | paste -s -d ',')", "0,2,4,6"),
    ],
)
def test_numbers_that_are_counted_and_joined(written: str, value: str) -> None:
    node, _ = launch(f"N=2\nexport ASCEND_RT_VISIBLE_DEVICES={written}\nvllm serve m\n")
    assert variables(node)["ASCEND_RT_VISIBLE_DEVICES"] == value


@pytest.mark.parametrize(
    ("before", "written", "word"),
    [
        ("A=(5 6 7)", "${A[1]}", "6"),
        ("A=(5 6 7); i=1", "${A[i]}", "6"),
        ("A=(5 6 7); i=1", "${A[$i]}", "6"),
        ("A=(5 6 7); i=1", "${A[$((i + 1))]}", "7"),
        ("A=(5 6 7)", "${#A[@]}", "3"),
        ("IFS=',' read -ra A <<< '5,6,7'", "${A[2]}", "7"),
        ("L='5 6'; read -r -a A <<< \"$L\"", "${A[0]}", "5"),
        ("A=(5 6 7)", "${A[9]}", HOLE),
        ("A=(5 $(list) 7)", "${A[0]}", "5"),
        ("A=(5 $(list) 7)", "${A[2]}", HOLE),
        ("A=(5 $(list) 7)", "${#A[@]}", HOLE),
        ("declare -A A=([x]=5 [y]=6)", "${A[x]}", "5"),
        ('read -ra A <<< "$UNKNOWN"', "${A[0]}", HOLE),
        ("mapfile -t A <<< $'5 6\\n7'", '"${A[0]}"', "5 6"),
        ("readarray -t A <<'E'\n5\n6\nE", "${A[1]}", "6"),
        ("X=6; mapfile -t A <<E\n5\n$X\nE", "${#A[@]}", "2"),
        ("mapfile -t A <<< $'5\\n'", "${#A[@]}", "2"),
        ("mapfile -t -n 1 A <<< $'5\\n6'", "${A[0]}", HOLE),
        ("mapfile -t A < file", "${A[0]}", HOLE),
        ("printf -v A '%s-%s' 5 6", "$A", "5-6"),
        ("printf -v A '%05d' 5", "$A", HOLE),
        ('printf -v A %s "$UNKNOWN"', "$A", HOLE),
    ],
)
def test_elements_of_an_array(before: str, written: str, word: str) -> None:
    text = f"{before}\necho {written}\n"
    command = read_shell(Text.verbatim(SourceFile("a.sh", text), 0, len(text))).commands[-1]
    assert [found.value for found in command.words[1:]] == [word]


def test_a_loop_over_the_numbers_of_an_array() -> None:
    text = 'P=(81 82)\nfor i in "${!P[@]}"; do\n  vllm serve m --port ${P[$i]}\ndone\n'
    assert [str(value(node, "port")) for node in deployment({"a.sh": text}).nodes] == ["81", "82"]


@pytest.mark.parametrize(
    ("written", "word"),
    [
        (r"$'a\\' --x $'b'", "a\\"),
        (r"$'\'\\' --x 'b'", "'\\"),
        ("==", "=="),
        ("=~", "=~"),
        (r"\ \ a", "  a"),
        (r"\ a\ \ b", " a  b"),
    ],
)
def test_words_that_the_parser_takes_for_something_else(written: str, word: str) -> None:
    text = f"vllm serve m --served-model-name {written} --port 8100\n"
    node, _ = launch(text)
    assert value(node, "served-model-name") == word and str(value(node, "port")) == "8100"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('IFS=,\nL="a,b"\nvllm serve $L end', ["a", "b", "end"]),
        ('IFS=,\nL="a,,b"\nvllm serve $L', ["a", "", "b"]),
        ("IFS=$'\\n'\nL='a b\nc'\nvllm serve $L", ["a b", "c"]),
        ('IFS=\nL="a b"\nvllm serve $L', ["a b"]),
        ('OLD="$IFS"\nIFS=,\nIFS="$OLD"\nL="a b"\nvllm serve $L', ["a", "b"]),
        ('f() { local IFS=,; vllm serve $1; }\nf "a,b"', ["a", "b"]),
        ('IFS=,\nunset IFS\nL="a b"\nvllm serve $L', ["a", "b"]),
        ('IFS=, read -ra P <<< "x,y"\nL="a,b c"\nvllm serve $L', ["a,b", "c"]),
    ],
)
def test_words_are_split_where_ifs_says(script: str, words: list[str]) -> None:
    assert words_of(script) == words


@pytest.mark.parametrize(
    "between",
    ["echo 5 | X=2", "{ X=2; } | cat", "echo 2 | read X", "echo 5 | while read l; do X=2; done", "true | export X=2"],
)
def test_what_a_stage_of_a_pipeline_sets_ends_with_it(between: str) -> None:
    assert words_of(f"X=1\n{between}\nvllm serve $X") == ["1"]


def words_of(script: str) -> list[str]:
    """Return the words behind ``vllm serve`` of the only engine of a script."""
    text = f"{script}\n"
    commands = read_shell(Text.verbatim(SourceFile("a.sh", text), 0, len(text))).commands
    found = [command for command in commands if command.words[0].value == "vllm"]
    assert len(found) == 1
    return [word.value for word in found[0].words[2:]]


SIDES = (
    ('if [ "$R" = p ]; then K=kv_producer; else K=kv_consumer; fi', 'if [ "$R" = p ]; then', "else", "fi"),
    ('if [[ $R == "p" ]]; then K=kv_producer; else K=kv_consumer; fi', 'if [ "${R}" != p ]; then', None, "fi"),
    ("case $R in p) K=kv_producer;; d) K=kv_consumer;; esac", 'if [ "$R" = d ]; then', None, "fi"),
    ('if [ "$R" = p ]; then K=kv_producer; else K=kv_consumer; fi', "case $R in p)", ";; *)", ";; esac"),
)


@pytest.mark.parametrize(("first", "begin", "otherwise", "end"), SIDES)
def test_a_script_that_asks_the_same_twice_takes_the_same_branch(
    first: str, begin: str, otherwise: str | None, end: str
) -> None:
    decode = 'vllm serve d --kv-transfer-config "{\\"kv_role\\": \\"$K\\"}"\n'
    before = f'vllm serve p --kv-transfer-config "{{\\"kv_role\\": \\"$K\\"}}"\n{otherwise}\n' if otherwise else ""
    nodes = deployment({"a.sh": f"R=$1\n{first}\n{begin}\n{before}{decode}{end}\n"}).nodes
    roles = {(node.model.value if node.model else "", node.role) for node in nodes}
    assert roles == ({("p", "kv_producer"), ("d", "kv_consumer")} if otherwise else {("d", "kv_consumer")})


def test_a_condition_is_asked_anew_where_what_it_asks_for_was_changed() -> None:
    first = 'if [ "$R" = p ]; then K=kv_producer; else K=kv_consumer; fi\nR=$(other)\n'
    engine = 'vllm serve d --kv-transfer-config "{\\"kv_role\\": \\"$K\\"}"'
    nodes = deployment({"a.sh": f'R=$1\n{first}if [ "$R" = p ]; then\n{engine}\nfi\n'}).nodes
    assert {node.role for node in nodes} == {"kv_producer", "kv_consumer"}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('A[0]=x\nA[1]="y z"\nvllm serve "${A[@]}"', ["x", "y z"]),
        ('A=(a b)\nA[1]=c\nvllm serve "${A[@]}"', ["a", "c"]),
        ('A=(a)\nA[${#A[@]}]=b\nvllm serve "${A[@]}"', ["a", "b"]),
        ('A=x\nA[1]=y\nvllm serve "${A[@]}"', ["x", "y"]),
        ('A=(a b)\nfor i in 0 1; do A[$i]=$i; done\nvllm serve "${A[@]}"', ["0", "1"]),
        ('A=(a)\nA[$U]=b\nvllm serve "${A[@]}"', [HOLE * 2]),
        ('A=(a b)\nA[0]+=q\nvllm serve "${A[@]}"', [HOLE * 2]),
        ('declare -A M\nM[a]=1\nvllm serve "${M[a]}"', ["1"]),
    ],
)
def test_an_element_of_an_array_is_set(script: str, words: list[str]) -> None:
    assert words_of(script) == words
