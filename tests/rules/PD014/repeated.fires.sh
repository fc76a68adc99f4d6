# pd-test: severity=error line=4
N=0
for i in $(seq 1 200); do
  for k in $(seq 1 200); do N=$((N + 1)); done
done
vllm serve /models/m --max-num-seqs "$N"
