#!/bin/bash
vllm serve /models/m --api-server-count 4
