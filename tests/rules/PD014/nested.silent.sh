bash <<E0
bash <<E1
bash <<E2
vllm serve m --port 8000
E2
E1
E0
