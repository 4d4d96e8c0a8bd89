"""What a teacher that does not think makes of a student that does: three ways to tell it, measured.

    python scripts/measure_thinking.py [PROBLEMS]

The student thinks before it answers: it repeats the specification, as models do, and then writes the reference. The
teacher, `rtl-agent/teacher-2`, has never seen a thought and reads other tokens. Printed are the teacher's nats for each
byte of the answer and of the thought, with the thought hidden, shown, and scored (`teacher_thinking`).
"""

import asyncio
import sys
from statistics import mean

from rtl_agent.backends.connect import connect
from rtl_agent.byte_vocabulary import ByteVocabulary
from rtl_agent.envs.conversation import Conversation, ModelTurn, PartKind
from rtl_agent.envs.dialects.registry import reading_dialect
from rtl_agent.envs.teacher_view import Thinking, teacher_view
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems.generate import TRAINED, Instance, answer, as_problem, instances
from rtl_agent.prompts import messages
from rtl_agent.teachers import Island, Reading, TinkerScorer
from rtl_agent.teachers.other_tokens import compare
from rtl_agent.teachers.translation import Translation

STUDENT, TEACHER, SEED = "rtl-agent/student", "rtl-agent/teacher-2", 93_000


def thinking_student(instance: Instance) -> Conversation:
    """One answer after one thought, in the student's tokens."""
    dialect, tokenizer = reading_dialect(STUDENT), tokenizer_for(STUDENT)
    asked = tuple(messages(as_problem(instance), system="short"))
    prompt = tuple(dialect.first(asked, ()).to_ints())
    said = f"<think>\n{instance.text}\n</think>\n\n{answer(instance.reference)}<|im_end|>"
    turn = dialect.read(tokenizer.encode(said, add_special_tokens=False))
    return Conversation(asked, (), (ModelTurn(turn),), prompt, ((),))


async def nats_per_byte(
    scorer: TinkerScorer, words: Translation, conversation: Conversation, how: Thinking
) -> dict[str, float]:
    """Minus the teacher's logprobs, by what was said."""
    view = teacher_view(conversation, reading_dialect(TEACHER), thinking=how)
    found: dict[str, float] = {}
    scores = await scorer.score(view.tokens, topk=8)
    for shared in view.shared:
        island = Island(
            shared.text,
            shared.student,
            shared.teacher,
            shared.student_ends,
            shared.teacher_ends,
            escaped=shared.escaped,
        )
        reading = Reading(view.tokens, len(conversation.tokens), islands=(island,))
        advice = compare(reading, scores, words, soft=False)
        total = -sum(one for one in advice.logprobs if one is not None)
        found[shared.kind.value] = total / len(shared.text)
    return found


async def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    student, teacher = (ByteVocabulary.from_tokenizer(tokenizer_for(name)) for name in (STUDENT, TEACHER))
    words = Translation(student, teacher)
    with connect("embedded", models=[TEACHER]) as connection:
        scorer = TinkerScorer(await connection.service.create_sampling_client_async(base_model=TEACHER), TEACHER)
        said = [thinking_student(one) for one in instances(SEED, count, families=TRAINED)]
        print("| thinking | answer, nats per byte | thought, nats per byte |")
        print("| --- | --- | --- |")
        for how in Thinking:
            found = [await nats_per_byte(scorer, words, one, how) for one in said]
            thoughts = [one[PartKind.THINKING] for one in found if PartKind.THINKING in one]
            shown = f"{mean(thoughts):.3f}" if thoughts else "-"
            print(f"| {how.value} | {mean(one[PartKind.TEXT] for one in found):.4f} | {shown} |")


if __name__ == "__main__":
    asyncio.run(main())
