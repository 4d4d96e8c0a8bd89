"""How far two computations of one logprob are apart on the transformers engine: sampler, score and trainer.

    python scripts/measure_precision.py [MODEL] [--tokens 96]

A model with an adapter that is not zero writes some tokens at temperature 1; their logprobs as they were sampled are
compared with those of a score and of the trainer's pass, in both types of numbers (docs/backends.md).
"""

import argparse
from statistics import mean

import numpy as np
import tinker

from rtl_agent.backends.connect import connect
from rtl_agent.envs.tokenizers import tokenizer_for

PROMPT = "Write an 8-bit counter with a synchronous reset in Verilog.\n\nmodule counter ("


def measure(model: str, dtype: str, count: int) -> tuple[list[float], list[float]]:
    """Distances of the sampler from the trainer, and from a score."""
    prompt = tokenizer_for(model).encode(PROMPT, add_special_tokens=False)
    with connect("embedded", models=[model], engine="transformers", dtype=dtype) as connection:
        client = connection.service.create_lora_training_client(model, rank=8, seed=0)

        def datum(tokens: list[int], weight: float) -> tinker.Datum:
            weights = np.zeros(len(tokens) - 1, np.float32)
            weights[len(prompt) - 1 :] = weight
            inputs = {
                "target_tokens": tinker.TensorData.from_numpy(np.asarray(tokens[1:])),
                "weights": tinker.TensorData.from_numpy(weights),
            }
            return tinker.Datum(model_input=tinker.ModelInput.from_ints(tokens[:-1]), loss_fn_inputs=inputs)

        for _ in range(2):  # or the adapter's product would be zero
            client.forward_backward([datum([*prompt, *prompt[:8]], 1.0)], "cross_entropy").result()
            client.optim_step(tinker.AdamParams(learning_rate=1e-3)).result()
        sampler = client.save_weights_and_get_sampling_client()
        params = tinker.SamplingParams(max_tokens=count, seed=1, stop=[])
        (answer,) = sampler.sample(tinker.ModelInput.from_ints(prompt), 1, params).result().sequences
        tokens = [*prompt, *answer.tokens]
        scored = sampler.compute_logprobs(tinker.ModelInput.from_ints(tokens)).result()[len(prompt) :]
        passed = client.forward([datum(tokens, 1.0)], "cross_entropy").result().loss_fn_outputs[0]["logprobs"]
        trained = np.asarray(passed.to_numpy(), np.float32)[len(prompt) - 1 :]
        sampled = answer.logprobs or []
        return (
            [abs(one - float(other)) for one, other in zip(sampled, trained, strict=True)],
            [abs(one - (other or 0.0)) for one, other in zip(sampled, scored, strict=True)],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="HuggingFaceTB/SmolLM2-135M-Instruct")
    parser.add_argument("--tokens", type=int, default=96)
    options = parser.parse_args()
    print(f"{options.model}, {options.tokens} sampled tokens: most and mean of the differences")
    for dtype in ("float32", "bfloat16"):
        for what, apart in zip(("trainer", "score"), measure(options.model, dtype, options.tokens), strict=True):
            print(f"{dtype:<9} sampler against {what:<8} {max(apart):.2g} {mean(apart):.2g}")


if __name__ == "__main__":
    main()
