# pd-launch: ignore[PD001] the comma stands three lines further down, in the same command
vllm serve /models/m \
  --additional-config '{
    "enable_cpu_binding": true,
  }'
