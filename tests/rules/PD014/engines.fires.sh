# pd-test: severity=error line=3
for port in {8000..8999}; do
  vllm serve /models/m --port "$port" &
done
