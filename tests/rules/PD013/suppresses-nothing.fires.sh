# pd-test: severity=warning line=2
# pd-launch: ignore[PD001] nothing is wrong below
vllm serve /models/m --port 8100
