"""Servers of one's own that score tokens: vLLM, SGLang and llama.cpp, each in the way that is sound on it."""
