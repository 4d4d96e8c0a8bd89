"""The dry runs of docs/recipes.md, written between its markers.

    RTL_AGENT_CVDP=<folder> python scripts/recipes.py

Prompts are those of CVDP's development part, counted by the models' vocabularies as installed packages carry them
(tests/envs/vocabularies.py), so that no model hub is needed.
"""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tinker_cookbook.tokenizer_utils import register_tokenizer

from rtl_agent.training.config import Mode
from rtl_agent.training.forecast import forecast, lines
from rtl_agent.training.parse import choose_new
from tests.envs import vocabularies

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "recipes.md"
CVDP = "cvdp_v1.0.2_nonagentic_code_generation_no_commercial.jsonl"
VOCABULARIES = {
    "Qwen/Qwen3-8B": vocabularies.qwen3,
    "Qwen/Qwen3-32B": vocabularies.qwen3,
    "Qwen/Qwen3-30B-A3B-Instruct-2507": vocabularies.qwen3,
    "Qwen/Qwen3-235B-A22B-Instruct-2507": vocabularies.qwen3,
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": vocabularies.qwen3,
    "openai/gpt-oss-20b": vocabularies.gpt_oss,
    "meta-llama/Llama-3.2-1B": vocabularies.llama3,
}


@dataclass(frozen=True)
class Recipe:
    """`words` follow `rtl-agent train`; the number of steps is that of each size."""

    name: str
    mode: Mode
    words: tuple[str, ...]


TEACHER_OF_ONES_OWN = "teacher_backend=openai:http://localhost:8000/v1"
RECIPES = (
    Recipe(
        "qwen3-8b",
        "distill",
        ("model_name=Qwen/Qwen3-8B", "teacher_model=Qwen/Qwen3-32B", TEACHER_OF_ONES_OWN,
         "renderer_name=qwen3_disable_thinking", "max_tokens=4096"),
    ),
    Recipe(
        "qwen3-30b",
        "distill",
        ("model_name=Qwen/Qwen3-30B-A3B-Instruct-2507", "teacher_model=Qwen/Qwen3-235B-A22B-Instruct-2507",
         "max_tokens=4096"),
    ),
    Recipe(
        "gpt-oss-20b",
        "distill",
        ("model_name=openai/gpt-oss-20b", "teacher_model=Qwen/Qwen3-Coder-30B-A3B-Instruct", TEACHER_OF_ONES_OWN,
         "max_tokens=8192"),
    ),
    Recipe(
        "llama-1b",
        "rl",
        ("model_name=meta-llama/Llama-3.2-1B", "renderer_name=llama3", "max_tokens=1024"),
    ),
)  # fmt: skip
# Name, options. 500 problems are more than the development part has: the steps are those of two epochs over them.
SIZES = (
    ("5 problems", ("limit=5", "batch_size=5", "max_steps=50")),
    ("50 problems", ("limit=50", "batch_size=8", "max_steps=100")),
    ("500 problems", ("batch_size=16", "max_steps=64")),
)
COMMON = ("preset=recommended", "backend=tinker")


def blocks() -> Iterator[tuple[str, str]]:
    """Marker and text of each dry run."""
    folder = os.environ.get("RTL_AGENT_CVDP")
    if not folder:
        raise SystemExit("RTL_AGENT_CVDP should name the folder of the CVDP JSONL files")
    for recipe in RECIPES:
        said = []
        for size, options in SIZES:
            words = [*COMMON, *recipe.words, *options]
            choice = choose_new(recipe.mode, [*words, f"cvdp_jsonl_path={Path(folder) / CVDP}"])
            command = shlex.join(["rtl-agent", "train", recipe.mode, "--dry-run", "cvdp_jsonl_path=CVDP.jsonl", *words])
            said.append(
                "\n".join([f"# {size}", f"$ {_wrapped(command)}", *lines(forecast(choice.config), choice.config)])
            )
        yield recipe.name, "\n\n".join(said)


def _wrapped(command: str, width: int = 100) -> str:
    parts, line = [], ""
    for word in command.split(" "):
        if line and len(line) + len(word) > width:
            parts.append(line + " \\")
            line = "   "
        line = f"{line} {word}".lstrip() if not line.startswith("   ") else f"{line} {word}"
    return "\n".join([*parts, line])


def main() -> None:
    for name, factory in VOCABULARIES.items():
        register_tokenizer(name, factory)
    page = PAGE.read_text()
    for name, text in blocks():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        block = f"<!-- not run: it needs the models' tokenizers and CVDP's file -->\n```\n{text}\n```"
        page = f"{before}{begin}\n{block}\n{end}{rest.split(end)[1]}"
        print(text)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
