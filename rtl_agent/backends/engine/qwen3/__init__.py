"""The engine for small Qwen3 models: torch in float32, exact to the bit whoever shares a batch."""
