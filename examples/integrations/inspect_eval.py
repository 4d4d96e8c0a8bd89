"""Inspect: two bundled problems and a scripted model that knows one answer.

    pip install 'rtl-agent[inspect]'
    python inspect_eval.py            # then `inspect view` shows the log

With a real model it is one command: `inspect eval rtl_agent/cvdp -T problems=bundled --model openai/gpt-5`.
"""

from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

import rtl_agent as ra
from rtl_agent.integrations.inspect import cvdp


def main() -> None:
    problem = next(one for one in ra.load_problems("bundled") if one.id == "rtl_barrel_shifter_0001")
    assert problem.reference is not None
    (design,) = problem.reference.values()
    outputs = [ModelOutput.from_content("mockllm/model", f"```systemverilog\n{design}```")]
    outputs.append(ModelOutput.from_content("mockllm/model", "I would rather not."))
    for output in outputs:
        output.usage = ModelUsage()  # or else Inspect downloads a vocabulary, to count tokens
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = evaluate(
        cvdp(problems="bundled", samples=2), model=model, sample_id=problem.id, max_connections=1, display="none"
    )
    for sample in log.samples or []:
        score = (sample.scores or {})["rtl"]
        print(f"{sample.id} epoch {sample.epoch}: {score.value}")
    assert log.results is not None
    for result in log.results.scores:
        if result.name == "passed":
            print(f"{result.reducer}: {result.metrics['mean'].value:.2f}")


if __name__ == "__main__":
    main()
