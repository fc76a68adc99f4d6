#!/bin/bash
docker run --rm --shm-size=16g --net=host \
  --device /dev/davinci0 \
  --device /dev/davinci1 \
  --device /dev/davinci_manager \
  --device /dev/devmm_svm \
  --device /dev/hisi_hdc \
  -v /usr/local/Ascend/driver/lib64/:/usr/local/Ascend/driver/lib64/ \
  -v /etc/hccn.conf:/etc/hccn.conf \
  quay.io/ascend/vllm-ascend:v0.25.1rc1 \
  vllm serve /models/m --tensor-parallel-size 2
