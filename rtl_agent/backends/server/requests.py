"""The JSON bodies this server reads. Fields it does not know are ignored, so that a newer SDK can still speak to it."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from rtl_agent.web.errors import bad_request


class Body(BaseModel):
    model_config = ConfigDict(protected_namespaces=(), extra="ignore", allow_inf_nan=False)


class CreateSession(Body):
    user_metadata: dict[str, Any] | None = None
    display_name: str | None = None


class SessionOnly(Body):
    session_id: str


class LoraFields(Body):
    rank: int = Field(32, ge=0, le=4096)
    seed: int | None = None
    train_unembed: bool = True
    train_mlp: bool = True
    train_attn: bool = True


class OptimizerFields(Body):
    type: str = "adamw"


class CreateModel(Body):
    session_id: str
    model_seq_id: int = Field(ge=0)
    base_model: str
    user_metadata: dict[str, Any] | None = None
    lora_config: LoraFields = Field(default_factory=lambda: LoraFields(rank=32))
    optimizer_config: OptimizerFields = OptimizerFields()


class ModelOnly(Body):
    model_id: str


class AdamFields(Body):
    type: str = "adamw"
    learning_rate: float = 1e-4
    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.95, ge=0, lt=1)
    eps: float = Field(1e-12, ge=0)
    weight_decay: float = 0.0
    grad_clip_norm: float = 0.0


class OptimStep(Body):
    model_id: str
    seq_id: int | None = None
    adam_params: AdamFields = Field(validation_alias=AliasChoices("adam_params", "optim_params", "optimizer_params"))


class SaveWeights(Body):
    model_id: str
    path: str | None = None
    seq_id: int | None = None
    ttl_seconds: int | None = None
    overwrite: bool = False
    user_metadata: dict[str, str] | None = None


class SaveForSampler(SaveWeights):
    sampling_session_seq_id: int | None = None


class LoadWeights(Body):
    model_id: str
    seq_id: int | None = None
    path: str
    optimizer: bool


class CreateSamplingSession(Body):
    session_id: str
    sampling_session_seq_id: int
    base_model: str | None = None
    model_path: str | None = None


class Chunk(Body):
    type: str
    tokens: Sequence[int] = ()


class Prompt(Body):
    chunks: Sequence[Chunk]


class SamplingFields(Body):
    max_tokens: int | None = Field(None, ge=0)
    seed: int | None = None
    stop: str | list[int] | list[str] | None = None
    temperature: float = Field(1.0, ge=0)
    top_k: int = -1
    top_p: float = Field(1.0, gt=0, le=1)


class SampleBody(Body):
    sampling_session_id: str
    seq_id: int
    num_samples: int = Field(1, ge=1, le=1024)
    prompt: Prompt
    sampling_params: SamplingFields
    prompt_logprobs: bool | None = None
    topk_prompt_logprobs: int = Field(0, ge=0)
    topk_sample_logprobs: int = Field(0, ge=0)
    prompt_logprobs_last_n: int | None = Field(None, ge=1)
    target_prompt_logprobs: dict[str, Any] | None = None
    prompt_alt_tokens_k: int = 0


class RetrieveFuture(Body):
    request_id: str


class WeightsInfo(Body):
    tinker_path: str


class SetTtl(Body):
    ttl_seconds: int | None = None


BodyType = TypeVar("BodyType", bound=Body)


def read(body: bytes, kind: type[BodyType]) -> BodyType:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        why = f"{where}: {first['msg']}" if where else first["msg"]
        raise bad_request(f"the body is not a valid {kind.__name__}: {why}", param=where or None) from error
