"""What a warm process does before it forks, seen from its forks: few pages are copied, files are named as ever."""

import json
import subprocess
import sys

from rtl_agent.grading.workspace import PROBE

# Gaps between objects that stay, of all small sizes, as imports leave them.
COPIED = """
import os, resource, sys
import rtl_agent_warm_memory

stays = [bytes(size) for _ in range(400) for size in range(1, 1500, 40)]
del stays[::3]
if sys.argv[1] == "settled":
    rtl_agent_warm_memory.settle()
child = rtl_agent_warm_memory.fork()
if child == 0:
    new = [bytes(size) for _ in range(20) for size in range(1, 1500, 40)]
    os._exit(len(new) != 760)
_, status, used = os.wait4(child, 0)
assert status == 0
print(used.ru_minflt)
"""

NAMED = r"""
import itertools, json, re, sys
sys.modules["rtl_agent_probe"] = sys.modules["rtl_agent_probe_seal"] = type(sys)("none")
import rtl_agent_probe_written as written

wrong = []
for before, after in itertools.product(["", "x", "_", ".", "-", "/", " ", "é", "a.txt "], repeat=2):
    for after in (after, after + "x", after + " "):
        text = f"{before}a.txt{after}"
        should = bool(re.search(r"(?<![\w.-])a\.txt(?![\w-]|\.\w)", text))
        if written._is_named(text, "/tmp/a.txt") != should:
            wrong.append(text)
print(json.dumps(wrong))
"""


def probe(code: str, *words: str) -> str:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PROBE)!r})\n{code}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_fork_allocates_beside_what_stays_and_not_in_its_gaps() -> None:
    gaps, settled = int(probe(COPIED, "as it is")), int(probe(COPIED, "settled"))
    assert settled < gaps - 100, "760 objects of 37 sizes went into gaps, each on a page of its own"


def test_a_file_is_named_where_its_name_is_a_word_of_its_own() -> None:
    assert json.loads(probe(NAMED)) == []


LINGERING = """
import _thread, os, time
import rtl_agent_warm_places

start = _thread.start_new_thread
_thread.start_new_thread = lambda work, words: start(lambda: (work(*words), time.sleep(0.2)), ())
number = rtl_agent_warm_places._next_pid()
try:
    os.kill(number, 0)
    print("is there")
except ProcessLookupError:
    print("is gone")
"""


def test_a_number_that_was_asked_for_is_nobodys_any_more() -> None:
    """A thread can be killed by its number, which kills its whole process: the warm one looked for a job's with it."""
    assert probe(LINGERING) == "is gone\n"
