#!/bin/bash
ssh 192.0.2.11 "vllm serve /models/m --port 9100" &
ssh 192.0.2.12 "vllm serve /models/m --port 9100" &
