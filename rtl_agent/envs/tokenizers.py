"""A model's tokenizer by the model's name."""

import os
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import cast

from tinker_cookbook.tokenizer_utils import Tokenizer, get_tokenizer, is_tokenizer_registered, register_tokenizer

from rtl_agent.local_models import OWN as EMBEDDED
from rtl_agent.local_models import imported_directory, tokenizer_folder

PACKAGED = "thinkingmachines/Inkling"  # the cookbook has its tokenizer from a package, not from the hub
UNGATED = "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer"  # Llama 3's own repositories ask for a licence


class NoTokenizer(Exception):
    """The tokenizer cannot be had."""

    def __init__(self, model_name: str, why: str) -> None:
        super().__init__(
            f"the tokenizer of {model_name} cannot be loaded: {why}; name a folder that has a tokenizer.json, make the "
            f"model hub reachable, or take a model whose name begins with {EMBEDDED}"
        )


def tokenizer_for(model_name: str) -> Tokenizer:
    """What `tinker_cookbook.register_tokenizer` was given for this name, our own, a fetched model's, or the hub's.

    Code that comes with a model is not run: the cookbook would, from a folder and for some names.
    """
    if is_tokenizer_registered(model_name):
        return get_tokenizer(model_name)
    if model_name.startswith(EMBEDDED):
        return embedded_tokenizer(model_name.removeprefix(EMBEDDED))
    if model_name.startswith(("/", "./", "../", "~")) and not Path(model_name).is_dir():
        raise NoTokenizer(model_name, "there is no such folder")
    folder = imported_directory(model_name) or (Path(model_name) if Path(model_name).is_dir() else None)
    try:
        return _loaded(str(folder)) if folder else _from_hub(model_name)
    except (OSError, ValueError, RuntimeError) as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        if "trust_remote_code" in str(error):
            said = "it is code that comes with the model, which is not run" + (
                "" if folder else " unless HF_TRUST_REMOTE_CODE=1 is set"
            )
        raise NoTokenizer(model_name, said.rstrip(".")) from error


def register_local_tokenizers(names: Iterable[str]) -> None:
    """Lets the cookbook's own programs find the tokenizers of these models, which are on no hub."""
    for name in names:
        folder = tokenizer_folder(name)
        if folder is not None and not is_tokenizer_registered(name):
            register_tokenizer(name, partial(_loaded, str(folder)))


def _from_hub(model_name: str) -> Tokenizer:
    name = model_name.partition(":")[0]  # Tinker's names may say more: openai/gpt-oss-120b:peft:131072
    trusted = os.environ.get("HF_TRUST_REMOTE_CODE", "").lower() in ("1", "true", "yes")
    if trusted or name.startswith(PACKAGED):
        return get_tokenizer(model_name)
    return _loaded(UNGATED if name.startswith("meta-llama/Llama-3") else name)


@cache
def embedded_tokenizer(model: str) -> Tokenizer:
    """The one beside a model's weights, or else the one that all others share: both are data of the package."""
    return _loaded(str(tokenizer_folder(EMBEDDED + model)))


@cache
def _loaded(place: str) -> Tokenizer:
    """From a folder, or by a name from the hub's cache or the hub."""
    from transformers import AutoTokenizer  # seconds to import

    return cast(Tokenizer, AutoTokenizer.from_pretrained(place, trust_remote_code=False))
