# pd-test: target=vllm==0.32.0
vllm serve /models/m --enforce-eager --compilation-config '{"cudagraph_mode": "NONE"}' &
vllm serve /models/m --port 8001 --no-enforce-eager --compilation-config '{"cudagraph_mode": "FULL"}' &
vllm serve /models/m --port 8002 --enforce-eager --compilation-config "{\"cudagraph_mode\": \"$MODE\"}"
