"""Which models the engine runs, from config.json and the headers of the weights; nothing is loaded."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.backends.engine.contract import EngineError, ModelInfo
from rtl_agent.backends.engine.weight_files import WeightFiles, read_weight_files

LEAST_CONTEXT = 16
# Keys and values of these are all that a sequence leaves behind; recurrent layers keep states that we do not.
ATTENTION_LAYERS = frozenset({"full_attention", "sliding_attention", "attention"})
_HALF_ABOVE = 200_000_000
DTYPES = ("float32", "bfloat16")
# How far two computations of one logprob may differ (scripts/measure_precision.py): bfloat16 logits have steps of 1/8
# at 16.
TOLERANCE = {"float32": 2e-4, "bfloat16": 0.5}


@dataclass(frozen=True)
class Described:
    """What is known of a model before its weights are read. `config` is transformers' own."""

    info: ModelInfo
    files: WeightFiles
    config: Any
    dtype: str


def refusal(directory: Path) -> str | None:
    try:
        describe(str(directory), directory)
    except EngineError as error:
        return str(error)
    return None


def describe(name: str, directory: Path, dtype: str | None = None) -> Described:
    """EngineError says why the engine cannot run it."""
    fields = _fields(directory)
    config, architecture = _config(directory, fields)
    text = config.get_text_config()
    unknown = sorted(set(getattr(text, "layer_types", None) or ()) - ATTENTION_LAYERS)
    if unknown:
        raise EngineError(
            f"{directory} has layers of type {unknown[0]!r}; the transformers engine runs models with attention only."
        )
    vocabulary, context = getattr(text, "vocab_size", 0), getattr(text, "max_position_embeddings", 0)
    if not isinstance(vocabulary, int) or not isinstance(context, int) or vocabulary < 1:
        raise EngineError(f"{directory / 'config.json'} does not say how large the vocabulary and the context are.")
    if context < LEAST_CONTEXT:
        raise EngineError(
            f"The context of {directory} is {context} positions, too few for a prompt and an answer; "
            f"max_position_embeddings in its config.json should be at least {LEAST_CONTEXT}."
        )
    files = read_weight_files(directory)
    chosen = dtype or default_dtype(files)
    if chosen not in DTYPES:
        raise EngineError(f"The type of numbers {chosen!r} is not supported; use {' or '.join(DTYPES)}.")
    info = ModelInfo(
        name,
        vocabulary,
        context,
        files.parameters,
        _end_tokens(directory, text, vocabulary),
        architecture=architecture,
        tolerance=TOLERANCE[chosen],
    )
    return Described(info, files, config, chosen)


def default_dtype(files: WeightFiles) -> str:
    """bfloat16 where the weights are half precision and memory decides about speed; else float32."""
    return "bfloat16" if files.mostly_half and files.parameters > _HALF_ABOVE else "float32"


def _fields(directory: Path) -> Mapping[str, Any]:
    path = directory / "config.json"
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise EngineError(f"{directory} is not a model directory: it has no readable config.json.") from None
    except ValueError as error:
        raise EngineError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("model_type"), str):
        raise EngineError(f"{path} has no model_type.")
    return fields


def _config(directory: Path, fields: Mapping[str, Any]) -> tuple[Any, str]:
    """transformers' configuration, and the architecture's name."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    kind = fields["model_type"]
    class_name = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind)
    if class_name is None or not class_name.endswith(("ForCausalLM", "LMHeadModel")):
        raise EngineError(
            f"{directory / 'config.json'} describes a {kind!r} model, which this version of transformers does not have "
            "as a causal language model."
        )
    if fields.get("quantization_config"):
        raise EngineError(f"The weights in {directory} are quantised; the engine needs them as float or bfloat16.")
    try:
        return AutoConfig.from_pretrained(directory, trust_remote_code=False), kind
    except Exception as error:  # transformers raises what it likes on a configuration that makes no sense
        raise EngineError(f"{directory / 'config.json'} is refused by transformers: {_first_line(error)}") from None


def _end_tokens(directory: Path, text: Any, vocabulary: int) -> frozenset[int]:
    """Those of the generation settings count as well: chat models end a turn by a token of its own."""
    ends = getattr(text, "eos_token_id", None)
    found = set(ends if isinstance(ends, list) else [] if ends is None else [ends])
    try:
        more = json.loads((directory / "generation_config.json").read_text(encoding="utf-8")).get("eos_token_id")
        found |= set(more if isinstance(more, list) else [] if more is None else [more])
    except (OSError, ValueError, AttributeError):
        pass
    return frozenset(one for one in found if isinstance(one, int) and 0 <= one < vocabulary)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
