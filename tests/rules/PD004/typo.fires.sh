# pd-test: target=vllm==0.32.0 line=3
#!/bin/bash
vllm serve /models/m --tensor-paralel-size 8
