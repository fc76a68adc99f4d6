vllm serve ok --port 1
cat <<EOF; echo x
hi
EOF
vllm serve m --port 2
