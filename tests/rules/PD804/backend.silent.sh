#!/bin/bash
docker run --rm --shm-size=16g --net=host \
  --device /dev/davinci0 \
  --device /dev/davinci_manager \
  --device /dev/devmm_svm \
  --device /dev/hisi_hdc \
  -v /usr/local/Ascend/driver/lib64/:/usr/local/Ascend/driver/lib64/ \
  -v /etc/hccn.conf:/etc/hccn.conf \
  -e PYTHONHASHSEED=0 \
  -e MOONCAKE_CONFIG_PATH=/config/mooncake.json \
  -v /data/config:/config \
  quay.io/ascend/vllm-ascend:v0.25.1rc1 \
  vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"lookup_rpc_port": "0"}}'
