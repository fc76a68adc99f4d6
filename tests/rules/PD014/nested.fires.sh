# pd-test: severity=error line=7
bash <<E0
bash <<E1
bash <<E2
bash <<E3
bash <<E4
vllm serve m --port 8000
E4
E3
E2
E1
E0
