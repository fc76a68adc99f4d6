# pd-test: target=vllm==0.32.0
curl http://<node0_ip>:<port>/v1/completions -H "Content-Type: application/json" -d '{
  "model": "glm-5", "prompt": "a", "max_completion_tokens": 50}'
