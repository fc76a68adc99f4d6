# what each round sets is as unknown as before
vllm serve /models/m --port 8000 &
for i in $(seq 1 9999); do
  STATUS=$(curl -s -o /dev/null -w '%{http_code}' localhost:8000/health)
  [ "$STATUS" = 200 ] && break
  sleep 1
done
for ((i = 0; i < 9999; i++)); do
  STATUS=$(curl -s localhost:8000/health)
  sleep 1
done
