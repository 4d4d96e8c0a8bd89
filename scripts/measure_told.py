"""What a model makes of what it is told: which of reference and habitual answer it finds likelier, in nats.

    python scripts/measure_told.py [MODEL] [--problems 24]

It is asked unseen generated problems whose habitual answer fails: untold, told the reference, told what failed in the
habitual answer, and told that the reference passed, as `teacher_model=self` tells it (docs/teachers.md).
"""

import argparse
from collections.abc import Sequence
from statistics import mean
from typing import cast

import tinker
from tinker_cookbook.renderers import Message as RendererMessage

from rtl_agent.backends.connect import connect
from rtl_agent.envs.feedback import failures
from rtl_agent.envs.renderers import default_renderer, renderer_for
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.grading import Outcome, SyncGrader
from rtl_agent.problems.generate import Instance, answer, as_problem, habitual_answer, instances
from rtl_agent.prompts import Message, as_dicts, messages, with_feedback, with_reference

SEED = 4242


def told(instance: Instance, grader: SyncGrader) -> dict[str, Sequence[Message]] | None:
    """The ways of asking; None where habit happens to be right."""
    problem, habit = as_problem(instance), answer(habitual_answer(instance))
    grade = grader.grade_reply(problem, habit)
    if grade.outcome is Outcome.PASSED:
        return None
    asked, reference = messages(problem, system="short"), answer(instance.reference)
    return {
        "untold": asked,
        "told the reference": with_reference(asked, reference, agent=False, brief=True),
        "told what failed": with_feedback(asked, habit, failures(problem, grade), agent=False),
        "told that it passed": with_feedback(asked, reference, "Every test passed.", agent=False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="rtl-agent/student-reader")
    parser.add_argument("--problems", type=int, default=24)
    options = parser.parse_args()
    renderer = renderer_for(default_renderer(options.model), tokenizer_for(options.model))
    end = renderer.get_stop_sequences()[:1]
    found: dict[str, list[tuple[float, float]]] = {}
    with connect("embedded", models=[options.model]) as connection, SyncGrader(jobs=1) as grader:
        client = connection.service.create_sampling_client(base_model=options.model)

        def likelihood(asked: Sequence[Message], text: str) -> float:
            prompt = renderer.build_generation_prompt(cast(list[RendererMessage], as_dicts(asked))).to_ints()
            said = [*renderer.tokenizer.encode(text, add_special_tokens=False), *cast(list[int], end)]
            scores = client.compute_logprobs(tinker.ModelInput.from_ints([*prompt, *said])).result()
            return sum(score or 0.0 for score in scores[-len(said) :])

        for instance in instances(SEED, options.problems, split="held-out"):
            answers = answer(instance.reference), answer(habitual_answer(instance))
            for way, asked in (told(instance, grader) or {}).items():
                reference, habit = (likelihood(asked, text) for text in answers)
                found.setdefault(way, []).append((reference, habit))
    print(f"{options.model:<24} reference likelier   reference, nats   habit, nats")
    for way, pairs in found.items():
        likelier = sum(reference > habit for reference, habit in pairs)
        columns = (mean(reference for reference, _ in pairs), mean(habit for _, habit in pairs))
        print(f"{way:<24} {likelier:>9} of {len(pairs):<8} {columns[0]:>14.1f} {columns[1]:>13.1f}")


if __name__ == "__main__":
    main()
