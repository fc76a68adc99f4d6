# pd-test: target=vllm==0.32.0
export LMCACHE_CONFIG_FILE
LMCACHE_CONFIG_FILE=/etc/lmcache.yaml
VLLM_PORT=8001
VLLM_HOST_IP=192.0.2.1
LD_LIBRARY_PATH=/usr/local/lib
OURS=1
set -a
NCCL_DEBUG=INFO
set +a
PYTHONHASHSEED=0 vllm serve /models/m --port $VLLM_PORT --host "${VLLM_HOST_IP}"
