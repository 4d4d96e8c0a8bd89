"""Start a model from the weights of another one that may read other tokens.

All weights but the embedding stay. A token's embedding is the mean of those that the old tokenizer needs for its bytes,
so that a token which both have keeps its own: the model begins with nearly all that it knows, and learns the rest.
"""

from pathlib import Path

import torch

from rtl_agent.backends.engine.qwen3.weights import EMBED, HEAD, Weights, read_weights
from rtl_agent.backends.models.registry import model_directory, own_config
from rtl_agent.byte_vocabulary import ByteVocabulary
from rtl_agent.envs.tokenizers import tokenizer_for


def weights_for(name: str, start: str, directory: Path | None = None) -> Weights:
    """For the model `name`, one of our own, from the weights of `start`, or from those of its kind in a directory."""
    if directory is not None:
        return read_weights(directory, own_config(name), torch.device("cpu"))
    old, new = tokenizer_for(start), tokenizer_for(name)
    weights = read_weights(model_directory(start), own_config(start), torch.device("cpu"))
    if old.get_vocab() == new.get_vocab():
        return weights
    before, after = ByteVocabulary.from_tokenizer(old), ByteVocabulary.from_tokenizer(new)
    sources: list[list[int]] = [[] for _ in range(own_config(name).vocabulary)]
    for token, number in new.get_vocab().items():
        if number in after:
            sources[number] = before.encode(after[number]) or [before.token_of[bytes([byte])] for byte in after[number]]
        else:
            sources[number] = [old.get_vocab()[token]]  # markers have the same names
    for table in (f"{EMBED}.weight", f"{HEAD}.weight"):
        if table in weights:
            weights[table] = torch.stack([weights[table][ids].mean(dim=0) for ids in sources])
    return weights
