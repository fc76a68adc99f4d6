vllm serve ok --port 1
cat <<EOF
hi
EOF
vllm serve m --port 2
