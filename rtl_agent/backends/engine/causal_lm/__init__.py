"""Any causal language model that transformers has: LoRA by PEFT, sampling with a KV cache that is refilled."""
