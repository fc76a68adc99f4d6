vllm serve /models/m --port 8000 &
for i in $(seq 1 99999); do
  curl -s localhost:8000/health && break
  sleep 1
done
