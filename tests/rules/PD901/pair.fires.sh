#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error line=3
vllm serve /models/m
