"""One loop for reinforcement learning, on-policy distillation and their mix."""
