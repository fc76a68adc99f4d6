"""Every way to start an engine that people write is followed, or said to be not; and what starts none is silent.

Each stands beside an engine that is right: without the reader's knowing of it, the file would look clean.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

RIGHT = "vllm serve ok --port 8123 &\n"
ARGUMENTS = "X --tensor-parallel-sizee 8"
ENGINE = f"vllm serve {ARGUMENTS}"

FOLLOWED = (
    "C='@E'\nn=C\n${!n}\n",
    "case $1 in p) C='@E';; d) C='vllm serve Y --seed 8';; esac\n$C\n",
    "if [ x ]; then C='@E'; else C='vllm serve Y --seed 8'; fi\nbash -c \"$C\"\n",
    "su - x <<E\n@E\nE\n",
    "echo '@E' | cat | bash\n",
    "echo '@E' | tee run.log | bash\n",
    'set -- @E\nexec "$@"\n',
    "bash <<< '@E'\n",
    'bash -s <<< "@E"\n',
    "cat <<E | bash\n@E\nE\n",
    "cat <<'E' | ssh host bash\n@E\nE\n",
    "cat <<'E' | ssh host 'bash -s'\n@E\nE\n",
    "echo '@E' | bash\n",
    "echo '@E' | sudo -u x bash -s\n",
    "echo '@E' | ssh h\n",
    "printf '%s\\n' '@E' | sh\n",
    "trap '@E' EXIT\n",
    'trap "cleanup; @E" INT TERM\n',
    "alias s='@E'\ns\n",
    "alias s='vllm serve'\ns @A\n",
    "x=$(@E &)\n",
    "pid=$(nohup @E > log 2>&1 & echo $!)\n",
    "x=`@E &`\n",
    "echo $(@E)\n",
    "for l in $(@E); do echo $l; done\n",
    "cat <(@E)\n",
    "while read l; do echo $l; done < <(@E 2>&1)\n",
    "@E > >(tee log)\n",
    "pdsh -w n[1-4] '@E'\n",
    "pdsh -w n[1-4] @E\n",
    "sbatch --wrap='@E'\n",
    'sbatch -N1 --wrap "@E"\n',
    "python -X dev -m vllm.entrypoints.openai.api_server --model @A\n",
    "python -W ignore -m vllm.entrypoints.openai.api_server --model @A\n",
    "python3 -uB -m vllm.entrypoints.openai.api_server --model @A\n",
    "torchrun --nproc_per_node 1 -m vllm.entrypoints.openai.api_server --model @A\n",
    "torchrun /opt/vllm/entrypoints/openai/api_server.py --model @A\n",
    "accelerate launch -m vllm.entrypoints.openai.api_server --model @A\n",
    "echo X | xargs vllm serve --tensor-parallel-sizee 8 \n",
    "cat ports | xargs -I{} @E --port {}\n",
    "cat ports | xargs -I{} sh -c '@E --port {}'\n",
    "find . -name m -exec @E \\;\n",
    "find . -name m -exec sh -c '@E' \\;\n",
    "parallel '@E --port {}' ::: 1 2\n",
    "parallel @E --port {} ::: 1 2\n",
    "su - u -c '@E'\n",
    "su -c '@E' u\n",
    "sudo -u x bash -c '@E'\n",
    "sudo -E -u x @E\n",
    "sudo --user=x --preserve-env @E\n",
    "sudo --user x @E\n",
    "sudo -u x A=b @E\n",
    "ssh host '@E'\n",
    "ssh -p 22 u@host @E\n",
    'ssh host "cd /x; nohup @E &"\n',
    "ssh host 'A=1' '@E'\n",
    "sshpass -p x ssh host '@E'\n",
    "env -S '@E'\n",
    "env -S'A=1 @E'\n",
    "env -i PATH=x @E\n",
    "env --split-string='@E'\n",
    "env -u A --chdir=/x @E\n",
    "timeout -k 5 10 @E\n",
    "timeout --kill-after 5 10 @E\n",
    "timeout --signal=KILL 10s @E\n",
    "timeout 10 bash -c '@E'\n",
    "nohup @E &\n",
    "nice -n 5 @E\n",
    "nice -5 @E\n",
    "nice --adjustment=5 @E\n",
    "numactl --cpunodebind=0 --membind 0 @E\n",
    "taskset -c 0-7 @E\n",
    "setsid -f @E\n",
    "stdbuf -oL -e L @E\n",
    "nohup setsid nice -n 5 numactl -N 0 taskset -c 0 timeout 5 stdbuf -oL @E\n",
    "screen -dmS a bash -c '@E'\n",
    "screen -dmS a @E\n",
    "screen -S a -X stuff '@E\\n'\n",
    "tmux new -d '@E'\n",
    "tmux new-session -d -s a '@E'\n",
    "tmux send-keys -t a '@E' Enter\n",
    "tmux new -d @E\n",
    "tmux new -d @S\n",
    "coproc @E\n",
    "coproc N { @E; }\n",
    "eval \"$(cat <<'E'\n@E\nE\n)\"\n",
    'eval "$(cat <<E\n@E\nE\n)"\n',
    "bash -c \"$(cat <<'E'\n@E\nE\n)\"\n",
    'eval "$(echo @E)"\n',
    "eval `echo @E`\n",
    'C="@E"\neval $C\n',
    'C="@E"\n$C\n',
    'C="@E"\nbash -c "$C"\n',
    'C="@E"\necho "$C" | bash\n',
    'C="@E"\nbash <<< "$C"\n',
    'vllm() { command vllm "$@"; }\n@E\n',
    'vllm() { /opt/v/bin/vllm "$@"; }\n@E\n',
    "docker exec c @E\n",
    "docker exec -it c bash -c '@E'\n",
    "docker exec -d -e A=1 c sh -lc '@E'\n",
    "echo '@E' | docker exec -i c bash\n",
    "docker exec -i c bash <<E\n@E\nE\n",
    "docker compose exec c @E\n",
    "docker compose run c bash -c '@E'\n",
    "podman run img @E\n",
    "nerdctl run img @E\n",
    "sudo docker exec c @E\n",
    "kubectl exec p -- @E\n",
    "kubectl exec -it p -c c -- bash -c '@E'\n",
    "kubectl -n ns exec p -- bash -c '@E'\n",
    "kubectl run p --image x --command -- @E\n",
    "oc exec p -- @E\n",
    "srun -N1 --ntasks=1 @E\n",
    "srun --overlap -w n1 bash -c '@E'\n",
    "srun --foo bar @E\n",
    "cat > p.conf <<E\n0-3 @E\nE\nsrun -n4 --multi-prog p.conf\n",
    "printf '0 @E\\n' > p.conf\nsrun --multi-prog p.conf\n",
    "pm2 start vllm --name e -- serve @A\n",
    "bash < <(echo '@E')\n",
    "bash -s < <(printf '%s\\n' '@E')\n",
    "ssh h bash -c \"'@E'\"\n",
    'ssh -T h bash -lc "\\"@E\\""\n',
    "C='@E'\nssh h bash -c \"'$C'\"\n",
    "pdsh -w n1 bash -c \"'@E'\"\n",
    "salloc -N1 @E\n",
    "mpirun -np 2 @E\n",
    "mpirun -np 2 bash -c '@E'\n",
    "ray job submit -- @E\n",
    "conda run -n e @E\n",
    "conda run -n e bash -c '@E'\n",
    "uv run @E\n",
    "poetry run @E\n",
    "unknownwrap --flag @E\n",
    "unknownwrap --run '@E'\n",
    "watch -n 1 '@E'\n",
    "script -c '@E' log\n",
    "flock /tmp/l @E\n",
    "flock /tmp/l -c '@E'\n",
    "echo '@E' | at now\n",
    "at now <<E\n@E\nE\n",
    "systemd-run --unit=a @E\n",
    "systemd-run --unit=a -p A=b bash -c '@E'\n",
    "chroot /x @E\n",
    "unshare -n @E\n",
    "nsenter -t 1 -m @E\n",
    "ip netns exec a @E\n",
    "singularity exec --nv img.sif @E\n",
    "apptainer exec img.sif bash -c '@E'\n",
    "gdb --args python -m vllm.entrypoints.openai.api_server --model @A\n",
    "nsys profile -o x @E\n",
    "msprof --output=x @E\n",
    "msprof --application='@E'\n",
    "strace -f -o x @E\n",
    'python - <<E\nimport os\nos.system("@E")\nE\n',
    "python3 <<'E'\nimport subprocess\nsubprocess.run(['vllm','serve','X','--tensor-parallel-sizee','8'])\nE\n",
    "cat > r.sh <<'E'\n@E\nE\nbash r.sh\n",
    "cat > r <<'E'\n@E\nE\nchmod +x r; ./r\n",
    "tee r.sh <<'E'\n@E\nE\n",
    "sudo tee /etc/systemd/system/v.service <<'E'\n[Service]\nExecStart=@E\nE\n",
    "echo '@E' > r.sh\nbash r.sh\n",
    "echo '#!/bin/bash' > r.sh\necho '@E' >> r.sh\nbash r.sh\n",
    "printf '@E\\n' > r.sh\n",
    "{ echo '#!/bin/bash'; echo '@E'; } > r.sh\n",
    "source <(echo '@E')\n",
    ". /dev/stdin <<E\n@E\nE\n",
    "bash <(cat <<E\n@E\nE\n)\n",
    "select x in a b; do @E; done\n",
    "until @E; do sleep 1; done\n",
    "while ! @E; do sleep 1; done\n",
    "! @E\n",
    "[[ -f x ]] && @E\n",
    "if [[ -n $(@E) ]]; then :; fi\n",
    "(( x = $(@E) ))\n",
    "case $1 in a) @E;; esac\n",
    "exec @E\n",
    "exec -a name @E\n",
    "command @E\n",
    "builtin exec @E\n",
    "'vllm' serve @A\n",
    'v"ll"m serve @A\n',
    "\\@E\n",
    "/opt/bin/@E\n",
    "$VENV/bin/@E\n",
    "$VLLM serve @A\n",
    "${VLLM:-vllm} serve @A\n",
    "vllm 'serve' @A\n",
    "S=serve\nvllm $S @A\n",
    'run() { "$@"; }\nrun @E\n',
    "run() { eval \"$1\"; }\nrun '@E'\n",
    'run() { bash -c "$*"; }\nrun @E\n',
    'run() { local c="$1"; shift; $c "$@"; }\nrun @E\n',
    'C=(@E)\n"${C[@]}"\n',
    'C=(@E)\nbash -c "${C[*]}"\n',
    'declare -a C=(@E)\n"${C[@]}"\n',
    "read -r C <<< '@E'\n$C\n",
    "mapfile -t L <<'E'\n@E\nE\n${L[0]}\n",
    "printf -v C '@E --max-num-seqs %s' 8\n$C\n",
    "@E | tee log\n",
    "@E |& tee log\n",
    "yes | @E\n",
    "(@E) | ts | tee x\n",
    "cd /x;@E;\n",
    "cd /x&&@E||exit\n",
    "{ @E;}\n",
    "time -p @E\n",
    "f() {\n@E\n}\ntrap f EXIT\n",
    "f() {\n@E\n}\n",
    "start_p() {\n@E\n}\n$1\n",
    "f() {\n@E\n}\nexport -f f\nbash -c f\n",
    "f() {\n@E\n}\nexport -f f\nparallel f ::: 1\n",
    'f() {\n@E\n}\nssh h "$(declare -f f); f"\n',
    'start_d() {\n@E\n}\n"start_$ROLE"\n',
    "if x; then @E; fi\n",
    "exit 0\n@E\n",
    "if then fi ((\n@E\n",
    "python -m vllm.entrypoints.openai.api_server --model @A &\n",
    "python -m @E\n",
    "python -m vllm.entrypoints.cli.main serve @A\n",
    "python /x/vllm/entrypoints/cli/main.py serve @A\n",
    "python -OO -m @E\n",
    "PYTHONPATH=x python3.11 -u -m vllm.entrypoints.openai.api_server --model @A\n",
    "$PYTHON -m vllm.entrypoints.openai.api_server --model @A\n",
    "${PY:-python} -m vllm.entrypoints.openai.api_server --model @A\n",
    "coverage run -m vllm.entrypoints.openai.api_server --model @A\n",
    "python -m pdb -m vllm.entrypoints.openai.api_server --model @A\n",
    "python -m debugpy --listen 5 -m vllm.entrypoints.openai.api_server --model @A\n",
    "viztracer -m vllm.entrypoints.openai.api_server --model @A\n",
    "doas -u x @E\n",
    "runuser -u x -- @E\n",
    "runuser -l x -c '@E'\n",
    "gosu x @E\n",
    "su-exec x @E\n",
    "tini -- @E\n",
    "tini -g -- bash -c '@E'\n",
    "prlimit --nofile=1 @E\n",
    "ulimit -n 1 && @E\n",
    "busybox sh -c '@E'\n",
    "fish -c '@E'\n",
    "ksh -c '@E'\n",
    "rsh host '@E'\n",
    "clush -w n '@E'\n",
    "pssh -h hosts '@E'\n",
    "ansible all -m shell -a '@E'\n",
    'ansible all -a "@E"\n',
    "gcloud compute ssh h --command='@E'\n",
    "gcloud compute ssh h -- @E\n",
    "make run CMD='@E'\n",
    "lxc exec c -- @E\n",
    "daemonize -o x /usr/bin/env @E\n",
    "start-stop-daemon --start --exec /usr/bin/vllm -- serve @A\n",
    "pm2 start '@E' --name a\n",
    "pm2 start vllm -- serve @A\n",
    "concurrently '@E' 'x'\n",
    "kubectl debug p -- sh -c '@E'\n",
    "$PREFIX @E\n",
    "${NUMA_CMD} @E\n",
    "$(command -v vllm) serve @A\n",
    "`which vllm` serve @A\n",
    "sudo -i <<E\n@E\nE\n",
    'bash -c \'vllm serve "$0" "$@"\' @A\n',
    "bash -c 'exec vllm serve \"$@\"' _ @A\n",
    "docker service create vllm/vllm-openai --model @A\n",
    "helm install x y -f - <<'A'\nimage: vllm/vllm-openai\nargs: [--model, X, --tensor-parallel-sizee, '8']\nA\n",
    "cat > values.yaml <<'A'\nimage: vllm/vllm-openai\nargs: [--model, X, --tensor-parallel-sizee, '8']\nA\n",
    "ansible-playbook /dev/stdin <<'A'\n- hosts: all\n  tasks:\n  - shell: @E\nA\n",
    'C=(vllm serve X)\nC[${#C[@]}]=--tensor-parallel-sizee\nC[4]=8\n"${C[@]}"\n',
    "sudo -u x -s <<'E'\n@E\nE\n",
    "echo '@E' | sudo -i\n",
    "sudo chroot /x <<E\n@E\nE\n",
    "nsenter -t 1 -m <<E\n@E\nE\n",
    "newgrp docker <<E\n@E\nE\n",
    "cat <<A >f; bash f\n@E\nA\n",
    "cat <<A >f && bash f\n@E\nA\n",
    "cat <<A >f; chmod +x f; ./f\n@E\nA\n",
    "gen() { echo '@E'; }\nbash <(gen)\n",
    "gen() { cat <<A\n@E\nA\n}\nsource <(gen)\n",
    "parallel <<A\n@E\nA\n",
    "parallel -j 2 <<A\n@E\nA\n",
    "echo '@E' | parallel\n",
    "echo '@A' | xargs vllm serve\n",
    "xargs vllm serve <<< '@A'\n",
    "echo '@E' | xargs -I{} sh -c '{}'\n",
    "echo '@E' | xargs -I CMD bash -c CMD\n",
    "xargs -d '\\n' -n1 bash -c <<A\n@E\nA\n",
    "echo '@reboot @E' | crontab -\n",
    "crontab <<'A'\nA=1\n# x\n*/5 * * * 1-5 @E\nA\n",
    "cat > /etc/cron.d/v <<'A'\n@reboot root @E\nA\n",
    "echo '0 3 * * * cd /x && @E' | sudo tee -a /etc/crontab\n",
    "echo '@E &' >> /etc/rc.local\n",
    "echo '@E &' | sudo tee -a /etc/rc.local\n",
    "echo '@E &' >> ~/.bashrc\n",
    "cat > /etc/init.d/v <<A\n@E\nA\n",
    "install -m 755 /dev/stdin x <<A\n@E\nA\n",
    "install -Dm755 /dev/stdin /usr/local/bin/start <<'A'\n#!/bin/bash\n@E\nA\n",
    "echo '@E' | install /dev/stdin x.sh\n",
    "dd of=x.sh <<A\n@E\nA\n",
    "cp /dev/stdin x.sh <<A\n@E\nA\n",
    "kubectl create configmap c --from-literal=start.sh='@E'\n",
    "kubectl run p --image=vllm/vllm-openai -- --model @A\n",
    """kubectl run p --overrides='{"spec":{"containers":[{"name":"a","command":["sh","-c","@E"]}]}}'\n""",
    """kubectl patch deploy d -p '{"spec":{"containers":[{"name":"a","args":["-c","@E"],"command":["sh"]}]}}'\n""",
    'kubectl patch deploy d --type=json -p \'[{"op":"replace","path":"/spec/template/spec/containers/0/args",'
    '"value":["--model=X","--max-num-seqs=8","--tensor-parallel-sizee=8"]}]\'\n',
    "python -c 'import os; os.system(\"@E\")'\n",
    "cat > Makefile <<'A'\nrun:\n\t@E\nA\nmake run\n",
    "cat > /etc/supervisor/conf.d/v.conf <<'A'\n[program:v]\ncommand=@E\nA\n",
    "docker build -t x - <<'A'\nFROM vllm/vllm-openai\nCMD @E\nA\n",
    'set -- @A\nvllm serve ${1+"$@"}\n',
    'E=(--tensor-parallel-sizee 8)\nvllm serve X ${E[@]+"${E[@]}"}\n',
    "E='--tensor-parallel-sizee 8'\nvllm serve X ${E:+$E}\n",
    "E=8\nvllm serve X ${E:+--tensor-parallel-sizee $E}\n",
    "vllm serve X ${E:---tensor-parallel-sizee 8}\n",
    "$(which python) -m vllm.entrypoints.openai.api_server --model @A\n",
    "declare -A C=([a]='@E')\neval \"${C[a]}\"\n",
    "declare -A C\nC[a]='@E'\n${C[a]}\n",
    "declare -A C=([p]='@E')\nfor k in \"${!C[@]}\"; do ${C[$k]} & done\n",
    "declare -A C=([p]='@E')\nfor c in \"${C[@]}\"; do $c & done\n",
    "declare -A C=(p --tensor-parallel-sizee)\nvllm serve X ${C[p]:---seed} 8\n",
    "declare -A C=([p]=a)\nC+=([q]=--tensor-parallel-sizee)\nvllm serve X ${C[q]} 8\n",
    "declare -A C\nvllm serve X ${C[p]:---tensor-parallel-sizee 8}\n",
    "k=q\ndeclare -A C\nC[$k]=--tensor-parallel-sizee\nvllm serve X ${C[q]} 8\n",
    'f() { local -n r=$1; "${r[@]}"; }\nC=(@E)\nf C\n',
    'declare -n r=C\nr=(@E)\n"${C[@]}"\n',
    'C=(x @E)\n"${C[@]:1:5}"\n',
    'f() { vllm serve "${@:2}"; }\nf z @A\n',
    'f() { vllm serve "${@: -3}"; }\nf z @A\n',
    ': "${C:=@E}"\n$C\n',
    ": ${C=@E}\nnohup $C &\n",
    'echo "${C:=@E}"\neval "$C"\n',
    'C="vllm_serve_X_--tensor-parallel-sizee_8"\n${C//_/ }\n',
    "P=VLLM\n${P,,} serve @A\n",
    "P=vllm.bak\n${P%.*} serve @A\n",
    "P=/opt/vllm\n${P##*/} serve @A\n",
    "C='run: @E'\n${C#run: }\n",
    "C='run: @E'\n${C:5}\n",
    "C=(_vllm _serve _X)\n${C[@]#_} --tensor-parallel-sizee 8\n",
    'C="@E"\n${C:?not given}\n',
    "C='@E'\nn=C\neval \"${!n}\"\n",
    "{vllm,serve,X,--tensor-parallel-sizee,8}\n",
    "{vllm,serve} @A\n",
    "if true; then {vllm,serve,X,--tensor-parallel-sizee,8} & fi\n",
    "PROMPT_COMMAND='@E'\n",
    "PS1='$(@E)'\n",
    "export CMD='@E'\n./launch\n",
    "CMD='@E'\nexport CMD\n./launch\n",
    "CMD='@E' ./launch\n",
    "supervisord -c <(printf '[program:x]\\ncommand=@E\\n')\n",
    "supervisord -nc /dev/stdin <<A\n[program:x]\ncommand=@E\nA\n",
    "make -f - <<A\nrun:\n\t@E\nA\n",
)
SAID = (
    "printf -v C '@E --seed %05d' 1\n$C\n",
    "echo '@E' | sed s,x,y, | cat | bash\n",
    "echo '@E' | while read -r l; do eval \"$l\"; done\n",
    "expect -c 'spawn @E'\n",
    "awk 'BEGIN{system(\"@E\")}'\n",
    "perl -e 'system(\"@E\")'\n",
    "declare -A C=([p]='@E')\n${C[$1]}\n",
    ": ${X:-`@E`}\n",
    "mapfile -n 1 L <<'E'\n@E\nE\n${L[0]}\n",
    "while read -r l; do eval \"$l\"; done <<'E'\n@E\nE\n",
    "vagrant ssh <<'E'\n@E\nE\n",
    "exec 3<<E\n@E\nE\nbash <&3\n",
    "(crontab -l; echo '@reboot @E') | crontab -\n",
    "sed -i '/^exit 0/i @E &' /etc/rc.local\n",
    "python -c 'import os; os.system(\"@E\"'\n",
    "foo -c <(printf 'cmd: @E')\n",
    "foo <<A\ncommand = @E\nA\n",
)
MADE = (
    "sed 's/X/vllm/' <<< 'X serve m --seed 1' | sh\n",
    "tr _ ' ' <<< vllm_serve_m_--seed_1 | bash\n",
    "echo dmxsbSBzZXJ2ZSBtIC0tc2VlZCAx | base64 -d | sh\n",
    'eval "$(echo dmxsbSBzZXJ2ZSBtIC0tc2VlZCAx | base64 -d)"\n',
    'bash -c "$(base64 --decode <<< dmxsbSBzZXJ2ZSBtIC0tc2VlZCAx)"\n',
    "bash <(echo dmxsbSBzZXJ2ZSBtIC0tc2VlZCAx | base64 -d)\n",
    "E=$(echo dmxsbSBzZXJ2ZQ== | base64 -d); $E m\n",
    "E=$(cat start)\n$E m --block-sze 16\n",
    "$BIN serve m --tensor-parallel-size 8\n",
    "nohup $START $MODEL --max-model-len 4096 &\n",
    '"$@" --kv-transfer-config "$KV"\n',
    """python3 -c "import runpy; runpy.run_module('vllm.entrypoints.openai.api_server')"\n""",
    "python3 - <<A\nfrom vllm.entrypoints.openai.api_server import run_server\nrun_server(x)\nA\n",
)
"""Engines that stand nowhere in the text as they are started."""
MADE_BY_OTHERS = (
    "curl -fsSL https://x/vllm/install.sh | sh\n",
    "curl -H 'a: b' https://x/vllm/serve --output - | sh\n",
    'echo "$KUBECONFIG_B64" | base64 -d > kube\n',
    'echo "$SCRIPT_B64" | base64 -d | sh\n',
    "$PYTHON bench.py --tensor-parallel-size 8\n",
    "$PYTHON -m sglang.launch_server --tensor-parallel-size 8\n",
    "$VLLM_BIN bench serve --max-concurrency 8\n",
    "$CURL --api-key x --served-model-name m\n",
    "$KUBECTL run --image-pull-policy x\n",
    '"$@" --port 1\n',
    'python3 -c "import vllm.entrypoints.openai.api_server"\n',
    'python3 -c "from vllm.entrypoints.openai import api_server; print(api_server)"\n',
    "CMD='vllm serve X --portt 1'\necho \"$CMD\"\n",
    "E=$(echo aGVsbG8gd29ybGQgaGVsbG8= | base64 -d)\necho $E\n",
)

SILENT = (
    'E=()\nvllm serve ok2 --port 8001 ${E[@]+"${E[@]}"}\n',
    "crontab -l | grep 'vllm serve'\n",
    "parallel echo <<E\nvllm serve X --portt 1\nE\n",
    "ssh h 'cat > notes.txt' <<E\nvllm serve X --portt 1\nE\n",
    "cat > docs/run.md <<'E'\n```bash\nvllm serve X --portt 1\n```\nE\n",
    "curl -d @- http://h <<E\nvllm serve X --portt 1\nE\n",
    "python3 - <<'E'\nprint(\"vllm serve X --portt 1\")\nE\n",
    "echo 'vllm serve X --portt 1' | xargs echo\n",
    "echo 'vllm serve X --portt 1' | parallel echo {}\n",
    "echo 'vllm serve X --portt 1' | xargs -I{} echo {}\n",
    "mail -s x y <<E\nvllm serve X --portt 1\nE\n",
    "base64 <<E\nvllm serve X --portt 1\nE\n",
    "psql <<E\nvllm serve X --portt 1\nE\n",
    "git commit -F - <<E\nStart it\n\nvllm serve X --portt 1\nE\n",
    "gh pr create --body-file - <<E\nvllm serve X --portt 1\nE\n",
    "notify <<E\nWe start vllm serve X --portt 1 now.\nE\n",
    "sed -i '/^run/a vllm serve X --portt 1' README.md\n",
    "cat > notes.txt <<E\nvllm serve X --portt 1\nE\n",
    "install -Dm644 /dev/stdin notes <<E\nWe start\nvllm serve X --portt 1\nE\n",
    "install -m 644 /dev/stdin notes.md <<E\nWe start\nvllm serve X --portt 1\nE\n",
    "while read -r l; do mycmd \"$l\"; done <<'E'\nvllm serve X --portt 1\nE\n",
    "kubectl create configmap c --from-literal=note='see vllm serve docs'\n",
    'echo "run vllm serve X"\n',
    "grep vllm x\n",
    'pgrep -f "vllm serve"\n',
    'pkill -f "vllm serve X"\n',
    'ps aux | grep "vllm serve" | grep -v grep\n',
    "ps aux | grep 'vllm serve' | awk '{print $2}' | xargs kill -9\n",
    "trap 'pkill -f \"vllm serve\"' EXIT\n",
    "trap 'kill $(pgrep -f \"vllm serve\")' EXIT\n",
    'log "starting vllm serve X"\n',
    'logger -t x "vllm serve X started"\n',
    "# vllm serve X\n",
    "cat <<E\nusage: vllm serve X\nE\n",
    "usage() {\ncat <<'E'\nrun: vllm serve X --foo\nE\n}\nusage\n",
    'echo "vllm serve X" | tee -a log\n',
    'echo "vllm serve X" >> log.txt\n',
    'PID=$(pgrep -f "vllm serve")\n',
    "N=$(ps aux | grep 'vllm serve' | wc -l)\n",
    "V=$(vllm --version)\n",
    "H=$(vllm serve --help | grep x)\n",
    "vllm --version\n",
    "vllm bench serve --model X\n",
    "vllm serve --help\n",
    "pip install vllm\n",
    "which vllm\n",
    "command -v vllm\n",
    "type vllm\n",
    "man vllm\n",
    "sed -i 's/vllm serve X/vllm serve Y/' f\n",
    "awk '/vllm serve/ {print}' f\n",
    'curl -d \'{"p": "vllm serve X"}\' h\n',
    "git commit -m 'vllm serve X'\n",
    '[[ "$x" == *"vllm serve"* ]] && echo y\n',
    'if [ "$x" = "vllm serve X" ]; then :; fi\n',
    'case "$x" in "vllm serve") echo;; esac\n',
    'MSG="vllm serve X is running"\necho "$MSG"\n',
    'notify-send "vllm serve X up"\n',
    'wall "vllm serve X down"\n',
    "docker ps | grep 'vllm serve'\n",
    "ssh h 'pkill -f \"vllm serve\"'\n",
    "ssh h \"ps aux | grep 'vllm serve'\"\n",
    "kubectl logs p | grep 'vllm serve'\n",
    "echo 'see vllm serve docs'\n",
    "printf 'vllm serve %s\\n' X\n",
    "read -p 'start vllm serve X? ' a\n",
    "whiptail --msgbox 'vllm serve X' 5 5\n",
    "cat log | grep -c 'vllm serve'\n",
    ": 'vllm serve X'\n",
    "trap 'echo vllm serve X ended' EXIT\n",
    "echo '=== vllm serve X ===' | figlet\n",
    "jq '.cmd == \"vllm serve X\"' f\n",
    "wait_for_server() { until curl x; do sleep 1; done; }\nwait_for_server\n",
    "python -c 'print(\"vllm serve X\")'\n",
    "python proxy.py --title 'vllm serve X'\n",
    "python bench.py --backend vllm --cmd-name 'vllm serve X'\n",
    "ssh h 'echo vllm serve X'\n",
    "alias v='cd /vllm'\n",
    "grep x <<< 'vllm serve X'\n",
    "read a b <<< 'vllm serve X'\n",
    "cat <<E | grep x\nvllm serve X\nE\n",
    "cat <<E | tee README.md\nvllm serve X\nE\n",
    "cat <<E > README.md\nvllm serve X\nE\n",
    "find . -name '*.sh' -exec grep -l 'vllm serve' {} \\;\n",
    "ls | xargs grep 'vllm serve'\n",
    "watch 'ps aux | grep vllm'\n",
    "pidof vllm\n",
    "lsof | grep vllm\n",
    "export NAME='vllm serve X'\n",
    "pandoc -V title='vllm serve X' x\n",
    'curl -X POST -d "text=vllm serve X started on $(hostname)" u\n',
    "die 'vllm serve X failed'\n",
    "echo 'vllm serve X failed' | mail -s x y\n",
    'vllm serve ok2 --port 8001 || { echo "vllm serve X failed"; exit 1; }\n',
    'echo -e "\\033[1mvllm serve X\\033[0m"\n',
    'echo "vllm serve X" | grep serve\n',
    'CMD=$(echo "vllm serve X")\necho $CMD\n',
    'log() { echo "[$(date)] $*"; }\nlog vllm serve X\n',
    "while pgrep -f 'vllm serve X' >/dev/null; do sleep 1; done\n",
    "kill $(ps aux | grep '[v]llm serve X' | awk '{print $2}')\n",
    "docker rm -f vllm\n",
    "docker build -t vllm .\n",
    "docker pull vllm/vllm-openai\n",
    "alias k='pkill -f \"vllm serve\"'\n",
)


def written(form: str) -> str:
    return form.replace("@E", ENGINE).replace("@A", ARGUMENTS).replace("@S", ENGINE.replace(" ", "\\ "))


def found(text: str, name: str = "a.sh") -> Sequence[tuple[str, int]]:
    return [(finding.code, finding.line) for finding in check(read_texts({name: text}, target="vllm:0.32.0"))]


@pytest.mark.parametrize("form", FOLLOWED)
def test_an_engine_is_followed_however_it_is_started(form: str) -> None:
    codes = {code for code, _ in found(RIGHT + written(form))}
    assert "PD004" in codes and "PD014" not in codes


@pytest.mark.parametrize("form", SAID)
def test_an_engine_that_cannot_be_followed_is_said_at_its_place(form: str) -> None:
    text = RIGHT + written(form)
    line = text[: text.rindex("vllm serve")].count("\n") + 1
    assert found(text) == [("PD014", line)]


@pytest.mark.parametrize("form", MADE)
def test_an_engine_that_a_script_makes_unseen_is_said(form: str) -> None:
    assert [code for code, _ in found(RIGHT + form)] == ["PD014"]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("SUB=$1\nvllm $SUB m --seed 1\n", 3),
        ("/opt/bin/vllm $1 m --seed 1\n", 2),
        ("vllm $(cat sub)\n", 2),
        ('mapfile -t A < words\nvllm "${A[@]}"\n', 3),
        ("SUB=serve\nvllm $SUB m --seed 1\n", None),
        ("SUB=bench\nvllm $SUB serve --model m\n", None),
        ('exec vllm "$@"\n', None),
    ],
)
def test_a_subcommand_of_vllm_that_is_not_known_may_be_serve(form: str, said: int | None) -> None:
    assert found(RIGHT + form) == ([] if said is None else [("PD014", said + RIGHT.count("\n") - 1)])


@pytest.mark.parametrize("form", SILENT + MADE_BY_OTHERS)
def test_a_text_that_speaks_of_an_engine_starts_none(form: str) -> None:
    assert found(RIGHT + form) == []


@pytest.mark.parametrize("form", FOLLOWED)
def test_what_is_right_is_silent_however_it_is_started(form: str) -> None:
    assert found(written(form).replace("--tensor-parallel-sizee", "--seed")) == []


ORDINARY = r"""#!/bin/bash
set -euo pipefail
usage() { cat <<EOF2
Usage: $0 [--port N]
  starts: vllm serve X --port 8000 --tensor-parallel-size 8
EOF2
exit 1; }
[ $# -lt 1 ] && usage
log() { echo "[$(date)] $*" | tee -a x.log; }
log "starting: vllm serve $MODEL --port 8000 --kv-transfer-config '{}'"
CMD="vllm serve $MODEL --port 8000"
echo "Running: $CMD"
eval "$CMD" > x.log 2>&1 &
PID=$!
trap "kill $PID" EXIT
ps -ef | grep "vllm serve $MODEL --port 8000" | grep -v grep | awk '{print $2}' | xargs -r kill -9
pkill -f "vllm serve $MODEL --port 8000" || true
while ! curl -s localhost:8000/health; do
  if ! pgrep -f "vllm serve $MODEL --port" > /dev/null; then echo "vllm serve --port died"; exit 1; fi
  sleep 1
done
"$@"
python3 bench.py --tag "vllm serve X" --result-filename "x"
python3 -c "import json; print('vllm serve --port done')"
ssh h "pkill -f 'vllm serve X --port'" || true
docker exec c pkill -f "vllm serve X --foo"
sed -i "s#vllm serve .* --port 1#vllm serve X --port 2#" f.service
awk '/vllm serve --port/ {system("kill " $2)}' ps.txt
cat <<'EOF2' > README.md
# run
    vllm serve X --portt 8
EOF2
cat <<'EOF2'
  vllm serve X --portt 8
EOF2
printf '%s\n' "vllm serve X --portt 8"
: <<'DOC'
vllm serve X --portt 8
DOC
tmux kill-session -t "vllm serve"
run_cmd() { echo "+ $*"; "$@"; }
run_cmd sleep 1
helm upgrade x --set "image.command=vllm serve X --port 1"
"""


def test_an_ordinary_script_that_speaks_of_engines_is_clean() -> None:
    assert found(ORDINARY) == []


def test_a_function_that_nothing_calls_by_name_does_not_run_beside_another() -> None:
    both = "p() {\n@E --port 1 &\n}\nd() {\n@E --port 1 &\n}\n"
    text = written(both).replace("sizee", "size")
    assert found(text + '"$1"\n') == []
    assert [code for code, _ in found(text + "p\nd\n")] == ["PD405"]


@pytest.mark.parametrize("end", ["EOF", "E", "END"])
@pytest.mark.parametrize("quote", ["", "'"])
@pytest.mark.parametrize("tabs", ["", "\t"])
def test_a_line_that_begins_like_the_end_of_a_here_document_does_not_end_it(end: str, quote: str, tabs: str) -> None:
    before = (
        f"cat <<{'-' if tabs else ''}{quote}{end}{quote}\n{tabs}{end}X=it's\n{tabs}vllm serve X --fooo\n{tabs}{end}\n"
    )
    assert found(f"{before}{written('@E')}\n") == [("PD004", 5)]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("start.service", f"[Unit]\n[Service]\nExecStart={ENGINE}\n"),
        ("x.yaml", "kind: Pod\napiVersion: v1\nspec: {containers: [{command: [vllm, serve, X, --fooo, '8']}]}\n"),
    ],
)
def test_a_unit_or_manifest_that_a_script_writes_has_its_own_places(file: str, text: str) -> None:
    assert found(f"{RIGHT}sudo tee /x/{file} <<'E'\n{text}E\n") == [("PD004", 5)]


POD = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: a, image: i, command: [vllm, serve, ok]}\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.service", f"[Service]\nExecStart=vllm serve ok\nExecStartPost={ENGINE} --port 8001\n"),
        ("a.service", f"[Service]\nExecStartPre=-/bin/sh -c '{ENGINE} --port 8001 &'\nExecStart=vllm serve ok\n"),
        ("a.service", f"[Service]\nExecStart=su - x -c '{ENGINE}'\n"),
        ("a.yaml", f"{POD}  initContainers:\n  - {{name: b, image: i, command: [sh, -c, '{ENGINE} --port 8001']}}\n"),
        ("a.yaml", f"{POD}    lifecycle: {{postStart: {{exec: {{command: [sh, -c, '{ENGINE} --port 8001']}}}}}}\n"),
        ("a.yaml", f"{POD}  - {{name: b, image: i, command: [su, x, -c, '{ENGINE}']}}\n"),
        ("a.yaml", f"{POD}  - {{name: b, image: i, command: [bash, -c], args: [\"echo '{ENGINE}' | bash\"]}}\n"),
        ("a.yaml", f"services:\n  a: {{image: i, command: su x -c '{ENGINE}'}}\n"),
        ("a.yaml", f"services:\n  a: {{image: i, command: vllm serve ok, post_start: [{{command: {ENGINE}}}]}}\n"),
        ("a.yaml", f"services:\n  a: {{image: i, entrypoint: [flock, /l, -c], command: ['{ENGINE}']}}\n"),
    ],
)
def test_other_forms_start_engines_in_the_same_ways(name: str, text: str) -> None:
    if "lifecycle" in text:
        text = text.replace(
            "  - {name: a, image: i, command: [vllm, serve, ok]}", "  - name: a\n    command: [vllm, serve, ok]"
        )
    assert [code for code, _ in found(text, name)] == ["PD004"]


def test_the_variables_of_a_unit_count_wherever_they_stand() -> None:
    unit = "[Service]\nExecStart=vllm serve ok\nEnvironment=A=1\nEnvironment=VLLM_PORT=x\n"
    assert "VLLM_PORT" in str(read_texts({"a.service": unit})[0].nodes[0].env)
    assert "VLLM_PORT" not in str(read_texts({"a.service": f"{unit}Environment=\n"})[0].nodes[0].env)


def test_a_command_of_a_unit_that_is_taken_back_does_not_count() -> None:
    assert found(f"[Service]\nExecStart={ENGINE}\nExecStart=\nExecStart=vllm serve ok\n", "a.service") == []


def test_a_variable_of_a_unit_without_a_value_is_passed_over() -> None:
    assert found(f"[Service]\nEnvironment=A B=1 =\nExecStart={ENGINE}\n", "a.service") == [("PD004", 3)]


@pytest.mark.parametrize(
    "call",
    [
        f"subprocess.run(['bash', '-c', '{ENGINE}'])",
        f"subprocess.run(['su', '-c', '{ENGINE}', 'x'])",
        f"subprocess.run(\"echo '{ENGINE}' | bash\", shell=True)",
        f"os.popen('{ENGINE}')",
        "os.execlp('vllm', 'vllm', 'serve', 'X', '--tensor-parallel-sizee', '8')",
        "os.spawnvp(os.P_WAIT, 'vllm', ['vllm', 'serve', 'X', '--tensor-parallel-sizee', '8'])",
        f"asyncio.create_subprocess_shell('{ENGINE}')",
        f"pexpect.spawn('{ENGINE}')",
    ],
)
def test_python_starts_engines_in_the_same_ways(call: str) -> None:
    assert found(f"import os, subprocess\nos.system('vllm serve ok --port 8123')\n{call}\n", "a.py") == [("PD004", 3)]


@pytest.mark.filterwarnings("error")
def test_python_warns_of_nothing_on_standard_error() -> None:
    assert [
        code
        for code, _ in found("import os\nx = '\\\x1b\\d' + str(1if 1 else 2)\nos.system('vllm serve ok')\n", "a.py")
    ] == []


def test_of_values_that_are_run_in_turns_only_one_runs() -> None:
    values = "case $1 in p) C='vllm serve X --port 1';; d) C='vllm serve Y --port 1';; esac\n$C &\n"
    assert found(RIGHT + values) == []


@pytest.mark.parametrize(
    "alias", ["vllm", "'vllm serve X --seed 8'", "'A=1 vllm'", "'nice -n 3 vllm'", "'B=\"x y\" vllm'"]
)
@pytest.mark.parametrize("model", ["X", '"it\'s X"', "$M"])
def test_words_after_an_alias_are_not_read_a_second_time(alias: str, model: str) -> None:
    """A JSON text in quotes is one word with its own quotes, whatever the alias is."""
    config = """{"kv_connector":"NixlConnector","kv_role":"kv_consumerx"}"""
    start = "" if "serve" in alias else f"serve {model}"
    text = f"alias v={alias}\nv {start} --kv-transfer-config '{config}'\n"
    assert found(text) == [("PD101", 2)]
