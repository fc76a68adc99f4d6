#!/bin/bash
vllm serve /models/path-to-success --tensor-parallel-size 2
