#!/bin/bash
# pd-test: target=0.11.0
vllm serve /models/m
