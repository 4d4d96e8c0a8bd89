"""What it costs to carry a teacher's scores over to other tokens: milliseconds of CPU for an answer of 4,000 tokens.

python scripts/bench_alignment.py
"""

import time
from itertools import accumulate
from statistics import median

from rtl_agent.byte_vocabulary import ByteVocabulary
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems.generate import TRAINED, answer, instances
from rtl_agent.teachers import Island, Reading, Scores, TopK
from rtl_agent.teachers.other_tokens import compare
from rtl_agent.teachers.translation import Translation

TOKENS, ROUNDS = 4_000, 21


def main() -> None:
    student, teacher = (
        ByteVocabulary.from_tokenizer(tokenizer_for(name)) for name in ("rtl-agent/student", "rtl-agent/teacher-2")
    )
    words = Translation(student, teacher)
    spent: dict[bool, list[float]] = {False: [], True: []}
    for number in range(ROUNDS):
        text = b""
        for one in instances(95_000 + number, 64, families=TRAINED):
            text += answer(one.reference).encode()
        ours = (student.encode(text) or [])[:TOKENS]
        text = b"".join(student.pieces(ours))
        theirs = teacher.encode(text) or []
        ends = [tuple(accumulate(map(len, pieces))) for pieces in (student.pieces(ours), teacher.pieces(theirs))]
        island = Island(text, (0, len(ours)), (0, len(theirs)), ends[0], ends[1])
        reading = Reading(tuple(theirs), len(ours), islands=(island,))
        top = tuple(TopK((token, *range(300, 307)), (-0.1, *[-4.0] * 7)) for token in theirs)
        scores = Scores(tuple(-0.1 for _ in theirs), top)
        for soft in spent:
            began = time.process_time()
            compare(reading, scores, words, soft=soft)
            spent[soft].append(1000 * (time.process_time() - began))
    alone, with_targets = median(spent[False]), median(spent[True])
    print(
        f"{TOKENS} tokens: alignment {alone:.1f} ms, soft targets at every position {with_targets - alone:.1f} ms more"
    )


if __name__ == "__main__":
    main()
