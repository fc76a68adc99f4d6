"""How many bytes things take: KV blocks, the offload budget's numbers, HCCL buffers, shared memory."""
