# how often this runs is not known: what it starts is checked once
for port in $(cat ports.txt); do
  vllm serve /models/m --port "$port" &
done
