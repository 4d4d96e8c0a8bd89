"""Training batches from the SDK's protobuf messages, and results back into them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from tinker.proto import tinker_public_pb2 as pb

from rtl_agent.backends.engine.contract import EngineError, Example, ForwardBackwardOutput, Ints, ModelInfo
from rtl_agent.backends.server.futures import PROTOBUF, Payload

MOST_COLUMNS = 4096  # a few bytes of CSR must not ask for gigabytes
DTYPES: Mapping[int, str] = {pb.DTYPE_FLOAT32: "<f4", pb.DTYPE_INT64: "<i8", pb.DTYPE_INT32: "<i4"}


def examples(request: pb.ForwardBackwardRequest, model: ModelInfo) -> list[Example]:
    if not request.data:
        raise EngineError("the batch is empty: forward_backward needs at least one Datum")
    return [_example(datum, index, model) for index, datum in enumerate(request.data)]


def loss_config(request: pb.ForwardBackwardRequest) -> dict[str, float]:
    config = dict(request.loss_fn_config)
    for name, value in request.loss_fn_config_v2.items():
        if value.WhichOneof("value") == "text":
            raise EngineError(f"loss_fn_config[{name!r}] is the text {value.text!r}; a number is needed here")
        config[name] = value.number
    return config


def _example(datum: pb.Datum, index: int, model: ModelInfo) -> Example:
    where = f"datum {index}"
    tokens = _tokens(datum, where)
    if len(tokens) > model.context:
        raise EngineError(f"{where} has {len(tokens)} tokens; {model.name} has a context of {model.context}")
    check_vocabulary(tokens, f"{where}: model_input", model)
    inputs = {name: _array(tensor, f"{where}: {name}") for name, tensor in datum.loss_fn_inputs.items()}
    for name, array in inputs.items():
        if array.ndim == 0 or len(array) != len(tokens):
            raise EngineError(f"{where}: {name} has shape {array.shape}; model_input has {len(tokens)} tokens")
    if "target_tokens" not in inputs:
        raise EngineError(f"{where} has no target_tokens in loss_fn_inputs")
    targets = inputs["target_tokens"]
    if not np.issubdtype(targets.dtype, np.integer):
        raise EngineError(f"{where}: target_tokens must be whole numbers, got {targets.dtype}")
    check_vocabulary(targets.astype(np.int64, copy=False), f"{where}: target_tokens", model)
    return Example(tokens, inputs)


def check_vocabulary(tokens: NDArray[np.integer], where: str, model: ModelInfo) -> None:
    outside = (tokens < 0) | (tokens >= model.vocabulary)
    if np.any(outside):
        raise EngineError(
            f"{where} has token {tokens[outside].flat[0]}; the vocabulary of {model.name} has {model.vocabulary} tokens"
        )


def _tokens(datum: pb.Datum, where: str) -> Ints:
    parts = []
    for chunk in datum.model_input:
        if not chunk.HasField("encoded_text"):
            raise EngineError(f"{where} has an image or audio chunk; only text is supported")
        parts.append(_buffer(chunk.encoded_text.tokens, "<i4", f"{where}: model_input"))
    tokens = np.concatenate(parts) if parts else np.empty(0, np.int64)
    if not len(tokens):
        raise EngineError(f"{where} has no tokens")
    return tokens.astype(np.int64)


def _array(tensor: pb.Tensor, where: str) -> NDArray[np.generic]:
    kind = DTYPES.get(tensor.dtype)
    if kind is None:
        raise EngineError(f"{where} has a data type that this server does not know ({tensor.dtype})")
    shape = tuple(tensor.shape)
    if any(size < 0 for size in shape):
        raise EngineError(f"{where} has the impossible shape {shape}")
    if not tensor.HasField("sparse_csr"):
        flat = _buffer(tensor.dense, kind, where)
        if not shape:
            shape = flat.shape
        if int(np.prod(shape, dtype=object)) != flat.size:
            raise EngineError(f"{where} has {flat.size} values for the shape {shape}")
        return _widened(flat.reshape(shape))
    return _widened(_from_csr(tensor.sparse_csr, kind, shape, where))


def _from_csr(csr: pb.SparseCsr, kind: str, shape: tuple[int, ...], where: str) -> NDArray[np.generic]:
    values = _buffer(csr.values, kind, where)
    rows = _buffer(csr.crow_indices, "<i8", where).astype(np.int64)
    columns = _buffer(csr.col_indices, "<i8", where).astype(np.int64)
    good = (
        len(shape) == 2
        and len(rows) == shape[0] + 1
        and len(values) == len(columns)
        and rows[0] == 0
        and rows[-1] == len(values)
        and bool(np.all(np.diff(rows) >= 0))
        and bool(np.all((columns >= 0) & (columns < shape[1])))
        and shape[1] <= MOST_COLUMNS
    )
    if not good:
        raise EngineError(f"{where} is not a valid sparse matrix of shape {shape}")
    dense = np.zeros(shape, values.dtype)
    dense[np.repeat(np.arange(shape[0]), np.diff(rows)), columns] = values
    return dense


def _buffer(data: bytes, kind: str, where: str) -> NDArray[np.generic]:
    if len(data) % np.dtype(kind).itemsize:
        raise EngineError(f"{where} has {len(data)} bytes, which is not a whole number of {kind} values")
    return np.frombuffer(data, kind)


def _widened(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """A copy that can be written to, in the two types of the public wire."""
    return array.astype(np.int64 if np.issubdtype(array.dtype, np.integer) else np.float32)


def forward_backward_payload(passed: ForwardBackwardOutput) -> Payload:
    output = pb.ForwardBackwardOutput(loss_fn_output_type="ArrayRecord")
    for trailing, group in groupby(passed.logprobs, key=lambda logprobs: logprobs.shape[1:]):
        _add_record(output, trailing, list(group))
    output.metrics["loss:sum"] = passed.loss_sum
    for name, value in _metrics(passed.metrics):
        output.metrics[name] = value
    return Payload(output.SerializeToString(), PROTOBUF)


def _add_record(
    output: pb.ForwardBackwardOutput, trailing: tuple[int, ...], arrays: Sequence[NDArray[np.float32]]
) -> None:
    """The SDK reads one record for examples of one trailing shape; offsets count bytes."""
    record = output.loss_fn_outputs.add(num_datums=len(arrays))
    field = record.fields["logprobs"]
    field.dtype = pb.DTYPE_FLOAT32
    field.trailing_shape.extend(trailing)
    field.data = b"".join(array.astype("<f4").tobytes() for array in arrays)
    field.offsets = np.cumsum([0, *(array.size * 4 for array in arrays)], dtype="<i8").tobytes()


def _metrics(metrics: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """The SDK joins the metrics of a batch's chunks by the word after the colon, and fails without one."""
    for name, value in metrics.items():
        yield (name if name.count(":") == 1 else f"{name.replace(':', '_')}:mean"), float(value)
