vllm serve /models/m --additional-config '{"enable_cpu_binding": true,}' # pd-launch: ignore[PD001] a comma of ours
