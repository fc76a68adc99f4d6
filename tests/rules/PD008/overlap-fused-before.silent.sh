# pd-test: target=0.22.1rc1
export VLLM_ASCEND_ENABLE_FUSED_MC2=1
vllm serve /models/m --additional-config '{"multistream_overlap_shared_expert": true}'
