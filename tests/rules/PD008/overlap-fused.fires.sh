# pd-test: target=0.26.0rc1 severity=warning line=3
export VLLM_ASCEND_ENABLE_FUSED_MC2=1
vllm serve /models/m --additional-config '{"multistream_overlap_shared_expert": true}'
