"""A base model: read once, checked, and shared by everything that is trained or sampled from it."""

import copy
import threading
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rtl_agent.backends.engine.causal_lm import attention, memory
from rtl_agent.backends.engine.causal_lm.architecture import Described, describe
from rtl_agent.backends.engine.causal_lm.shared_rows import in_one_row
from rtl_agent.backends.engine.contract import EngineError, ModelInfo
from rtl_agent.backends.engine.token_sampling import TokenDecoder


@dataclass
class BaseModel:
    """`model` is transformers' own, frozen. Names are those of its modules."""

    name: str
    directory: Path
    described: Described
    model: Any
    device: torch.device
    _packed: dict[str, Tensor] = field(default_factory=dict)
    _packing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def info(self) -> ModelInfo:
        return self.described.info

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self.described.dtype)  # type: ignore[no-any-return]

    @property
    def packs(self) -> bool:
        return packs(self.dtype, self.device)

    @cached_property
    def shares(self) -> bool:
        """Whether several sequences may stand in one row (shared_rows.py)."""
        return takes_shared_rows(self)

    @cached_property
    def decoder(self) -> TokenDecoder:
        """Read when a request first stops on text: token-only work needs no tokenizer."""
        return TokenDecoder(self.directory)

    def packed(self, name: str, weight: Tensor) -> Tensor:
        """A linear layer's weight laid out for few rows; one copy for all snapshots."""
        with self._packing:
            if name not in self._packed:
                self._packed[name] = pack(weight)
            return self._packed[name]

    def sharing(self) -> Any:
        """The same modules once more, over the same weights: what is changed there does not reach the base."""
        memo: dict[int, Any] = {id(one): one for one in (*self.model.parameters(), *self.model.buffers())}
        return copy.deepcopy(self.model, memo)


def packs(dtype: torch.dtype, device: torch.device) -> bool:
    """8 rows through bfloat16 layers of a 1.5B model read 30 GB/s from packed weights, 12 GB/s from plain ones."""
    return dtype == torch.bfloat16 and device.type == "cpu" and bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]  # torch leaves it so


def pack(weight: Tensor) -> Tensor:
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), 8)
    return packed


def read_base(name: str, directory: Path, device: torch.device, dtype: str | None) -> BaseModel:
    described = describe(name, directory, dtype)
    kind: torch.dtype = getattr(torch, described.dtype)
    if device.type == "cpu":
        need = memory.to_load(name, described.files.parameters, kind.itemsize, packed=packs(kind, device))
        need.check("end other programs, or choose a smaller model")
    base = BaseModel(name, directory, described, _read(directory, described, kind, device), device)
    check_head(base)
    return base


def _read(directory: Path, described: Described, dtype: torch.dtype, device: torch.device) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # transformers leaves it so
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    model: Any
    loading: Any
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: Any = AutoModelForCausalLM.from_pretrained(
                directory, dtype=dtype, local_files_only=True, trust_remote_code=False, output_loading_info=True
            )
            model, loading = found
    except MemoryError:
        raise EngineError(f"There is not enough memory for the weights in {directory}.") from None
    except Exception as error:  # transformers and safetensors raise what they like
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise EngineError(f"The weights in {directory} cannot be read: {line}") from None
    for name in sorted(loading["missing_keys"]):
        raise EngineError(f"{directory} has no weight {name!r}, which its config.json requires.")
    for mismatch in loading.get("mismatched_keys") or ():
        raise EngineError(f"A weight in {directory} has another shape than config.json says: {mismatch}.")
    model.eval().requires_grad_(False)
    attention.install(model)
    return model.to(device)


def hidden_states(model: Any, tokens: Tensor, **others: Any) -> Tensor:
    """(rows, length) -> (rows, length, width), what the head takes."""
    found: Tensor = model.get_decoder()(input_ids=tokens, **others).last_hidden_state
    return found


def unembedded(model: Any, hidden: Tensor) -> Tensor:
    """Logits in float32, with what some architectures do to them after the head."""
    logits: Tensor = model.get_output_embeddings()(hidden).float()
    config = model.config.get_text_config()
    if (cap := getattr(config, "final_logit_softcapping", None)) is not None:
        logits = torch.tanh(logits / cap) * cap
    if (scale := getattr(config, "logit_scale", None)) is not None:
        logits = logits * scale
    if (scaling := getattr(config, "logits_scaling", None)) is not None:
        logits = logits / scaling
    return logits


@torch.inference_mode()
def check_head(base: BaseModel) -> None:
    """An architecture that does more between its layers and its logits than we know would be trained on wrong ones."""
    tokens = torch.arange(4, device=base.device)[None] % base.info.vocabulary
    wanted = base.model(input_ids=tokens, use_cache=False).logits.float()
    found = unembedded(base.model, hidden_states(base.model, tokens, use_cache=False))
    if not torch.isfinite(wanted).all():
        raise EngineError(f"The weights in {base.directory} are damaged: the model's logits are not finite.")
    if found.shape != wanted.shape or (found - wanted).abs().max() > 0.02 * wanted.abs().max() + 1e-3:
        raise EngineError(
            f"The transformers engine does not run {base.info.architecture!r} models: its logits are not theirs."
        )


@torch.inference_mode()
def takes_shared_rows(base: BaseModel) -> bool:
    """Whether positions and a mask are taken as they come: two ends behind one beginning must give what they give
    alone. Layers that see a window of positions would need a mask of their own."""
    config = base.model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    if getattr(config, "sliding_window", None) is not None and (kinds is None or "sliding_attention" in kinds):
        return False
    row = in_one_row(([5, 3, 7, 4, 6, 9], [5, 3, 7, 8, 2]), base.device)
    tokens = row.tokens % base.info.vocabulary
    try:
        together = hidden_states(base.model, tokens, use_cache=False, **row.placed)[0]
        for places in row.places:
            alone = hidden_states(base.model, tokens[:, places], use_cache=False)[0].float()
            if (together[places].float() - alone).abs().max() > 0.05 * alone.abs().max():
                return False
    except Exception:  # an architecture that takes masks or positions in ways of its own
        return False
    return True


def linears(model: nn.Module) -> list[tuple[str, nn.Linear]]:
    return [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]


def put_module(model: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, module)
