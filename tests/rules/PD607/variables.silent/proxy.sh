#!/bin/bash
python load_balance_proxy_server_example.py --port 8000 \
  --prefiller-hosts $node_p0_ip "${node_p1_ip}" --prefiller-ports 9100 9100 \
  --decoder-hosts 192.0.2.21 --decoder-ports 9100
