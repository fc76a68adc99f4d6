# pd-test: target=0.26.0rc1
export VLLM_ASCEND_ENABLE_FUSED_MC2=2
vllm serve /models/m --additional-config '{"multistream_overlap_shared_expert": true}'
