"""A model's tokenizer by the model's name."""

from functools import cache
from pathlib import Path
from typing import cast

from tinker_cookbook.tokenizer_utils import Tokenizer, get_tokenizer, is_tokenizer_registered

from rtl_agent.local_models import OWN as EMBEDDED
from rtl_agent.local_models import imported_directory, tokenizer_folder


class NoTokenizer(Exception):
    """The tokenizer cannot be had."""

    def __init__(self, model_name: str, why: str) -> None:
        super().__init__(
            f"the tokenizer of {model_name} cannot be loaded: {why}; name a folder that has a tokenizer.json, make the "
            f"model hub reachable, or take a model whose name begins with {EMBEDDED}"
        )


def tokenizer_for(model_name: str) -> Tokenizer:
    """What `tinker_cookbook.register_tokenizer` was given for this name, our own, a fetched model's, or the hub's."""
    if is_tokenizer_registered(model_name):
        return get_tokenizer(model_name)
    if model_name.startswith(EMBEDDED):
        return embedded_tokenizer(model_name.removeprefix(EMBEDDED))
    if model_name.startswith(("/", "./", "../", "~")) and not Path(model_name).is_dir():
        raise NoTokenizer(model_name, "there is no such folder")
    try:
        folder = imported_directory(model_name) or (Path(model_name) if Path(model_name).is_dir() else None)
        # Not by the cookbook: it would run code that lies in the folder.
        return _from_folder(str(folder)) if folder else get_tokenizer(model_name)
    except (OSError, ValueError, RuntimeError) as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise NoTokenizer(model_name, said.rstrip(".")) from error


@cache
def embedded_tokenizer(model: str) -> Tokenizer:
    """The one beside a model's weights, or else the one that all others share: both are data of the package."""
    return _from_folder(str(tokenizer_folder(EMBEDDED + model)))


@cache
def _from_folder(folder: str) -> Tokenizer:
    from transformers import AutoTokenizer  # seconds to import

    return cast(Tokenizer, AutoTokenizer.from_pretrained(folder, trust_remote_code=False))
