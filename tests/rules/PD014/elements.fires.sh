# pd-test: severity=error line=2
for port in $(seq 1 99999); do
  vllm serve /models/m --port "$port" &
done
