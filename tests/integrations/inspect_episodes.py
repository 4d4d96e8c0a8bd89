"""Run in Inspect's environment: episodes of each kind with scripted models, and what Inspect makes of them, as JSON."""

import json
from collections.abc import Mapping
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import solver
from inspect_ai.util import sandbox
from inspect_ai.util._sandbox import self_check

import rtl_agent as ra
from rtl_agent.grading.executors import EXECUTORS, ExecutorFault
from rtl_agent.integrations.inspect import cvdp

MODEL = "mockllm/model"
SINGLE, AGENTIC = "rtl_barrel_shifter_0001", "rtl_alu_0001"
PROBLEMS = {problem.id: problem for problem in ra.load_problems("bundled")}


class NobodyThere:
    """An executor whose machine is gone."""

    def __init__(self, **options: object) -> None:
        pass

    async def fingerprint(self, cocotb_version: object) -> Mapping[str, str]:
        raise ExecutorFault("nobody is there")

    async def aclose(self) -> None:
        pass


EXECUTORS.register("nobody")(NobodyThere)


def counted(output: ModelOutput) -> ModelOutput:
    """Without a usage Inspect counts tokens, by a vocabulary that it downloads."""
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def reply(identifier: str, text: str = "") -> ModelOutput:
    (design,) = (PROBLEMS[identifier].reference or {}).values()
    return counted(ModelOutput.from_content(MODEL, text or f"```systemverilog\n{design}```"))


def calls(tool: str, **arguments: str) -> ModelOutput:
    return counted(ModelOutput.for_tool_call(MODEL, tool, dict(arguments)))


def writes(identifier: str) -> ModelOutput:
    ((path, design),) = (PROBLEMS[identifier].reference or {}).items()
    return calls("bash", command=f"cat > {path} <<'EOF'\n{design}EOF")


def run(name: str, task: Task, outputs: list[ModelOutput], **options: Any) -> dict[str, Any]:
    model = get_model(MODEL, custom_outputs=outputs)
    (log,) = evaluate(task, model=model, display="none", log_dir=f"logs/{name}", max_connections=1, **options)
    return told(read_eval_log(log.location))


def told(log: EvalLog) -> dict[str, Any]:
    samples = [
        {
            "id": sample.id,
            "epoch": sample.epoch,
            "score": {name: score.value for name, score in (sample.scores or {}).items()},
            "unscored": [score.reason for score in (sample.scores or {}).values() if score.reason],
            "error": sample.error.message if sample.error else "",
            "messages": [f"{message.role}: {message.text}" for message in sample.messages],
        }
        for sample in log.samples or []
    ]
    metrics = {
        f"{score.reducer}/{score.name}": {key: metric.value for key, metric in score.metrics.items()}
        for score in (log.results.scores if log.results else [])
    }
    return {"status": log.status, "samples": samples, "metrics": metrics}


@solver
def checks_the_sandbox() -> Any:
    """Inspect's own tests of a sandbox, one after another in the same one."""

    async def solve(state: Any, generate: Any) -> Any:
        state.metadata["checks"] = {name: await outcome(getattr(self_check, name)) for name in self_check.__all__}
        return state

    return solve


async def outcome(check: Any) -> str:
    try:
        await check(sandbox())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "passed"


def main() -> None:
    found: dict[str, Any] = {}
    wrong = reply(SINGLE, "```systemverilog\nmodule nothing; endmodule\n```")
    found["single"] = run("single", cvdp(samples=2), [reply(SINGLE), wrong], sample_id=SINGLE)
    found["refine"] = run("refine", cvdp(episode="refine"), [wrong, reply(SINGLE)], sample_id=SINGLE)
    found["error"] = run("error", cvdp(executor="nobody"), [reply(SINGLE)], sample_id=SINGLE)
    agentic = cvdp(episode="agentic")
    looks = calls("bash", command="pwd; ls /src; iverilog -V | head -n 1")
    found["agentic"] = run("agentic", agentic, [looks, writes(AGENTIC), reply(AGENTIC, "Done.")], sample_id=AGENTIC)
    submits = [calls("submit", answer="done") for _ in range(2)]
    task = cvdp(episode="agentic", level="feedback")
    found["feedback"] = run("feedback", task, [submits[0], writes(AGENTIC), submits[1]], sample_id=AGENTIC)
    task = cvdp(episode="agentic", level="open")
    found["open"] = run("open", task, [writes(AGENTIC), reply(AGENTIC, "Done.")], sample_id=AGENTIC)
    bare = Task(dataset=[Sample(input="x", id="x")], solver=checks_the_sandbox(), sandbox="rtl_agent")
    (log,) = evaluate(bare, model=MODEL, display="none", log_dir="logs/checks")
    (sample,) = log.samples or []
    found["checks"] = sample.metadata.get("checks") or {"error": str(sample.error)}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
