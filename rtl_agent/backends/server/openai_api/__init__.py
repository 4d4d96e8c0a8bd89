"""OpenAI's API over the engine, with vLLM's prompt logprobs, for any program that speaks it."""
