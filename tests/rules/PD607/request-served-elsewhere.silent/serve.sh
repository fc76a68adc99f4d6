vllm serve /models/m --served-model-name m --port 8089
nginx -g "listen 8088;" &
