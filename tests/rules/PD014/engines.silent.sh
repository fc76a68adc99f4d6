for port in {8000..8015}; do
  vllm serve /models/m --port "$port" &
done
