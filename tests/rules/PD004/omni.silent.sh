# pd-test: target=vllm==0.32.0
vllm serve /models/h3 --omni --task-type fl2va --num-gpus 2 --usp 2 --vae-use-tiling --init-timeout 900
