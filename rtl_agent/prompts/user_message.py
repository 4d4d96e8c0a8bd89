"""The user message: the given files, the task, and how to answer."""

from collections.abc import Mapping

from rtl_agent.problems.problem import Kind, Needs, Problem
from rtl_agent.prompts.files_in_text import fenced, language_of


def user_message(problem: Problem, context: Mapping[str, str], *, inline: bool, brief: bool = False) -> str:
    """`context` are the problem's context files, as long as they may be; `inline` puts them into the text.

    `brief` says the form of an answer in a few words, where one file is asked.
    """
    parts = [problem.prompt.strip()]
    if inline and context:
        shown = [fenced(path, text) for path, text in context.items()]
        parts = ["These files are given.", *shown, "The task:", *parts]
    if problem.kind is Kind.AGENTIC:
        parts.append(_workspace(problem))
    else:
        parts.append(_answer_format(problem, brief=brief))
    return "\n\n".join(parts)


def _workspace(problem: Problem) -> str:
    if not problem.context:
        return "The workspace has no files yet."
    listed = "\n".join(f"  {path}" for path in sorted(problem.context))
    return f"Files in the workspace, below /code:\n{listed}"


def _answer_format(problem: Problem, *, brief: bool) -> str:
    if problem.needs is Needs.TEXT or not problem.targets:
        return (
            "Answer with one JSON object and nothing else, your whole answer being the value of `response`:\n"
            '{"response": "<your answer>"}'
        )
    if len(problem.targets) == 1:
        path = problem.targets[0]
        if brief:
            return f"Answer with one ```{language_of(path)} block."
        return (
            f"Answer with the complete text of `{path}`, from its first line to its last, in a single fenced code "
            f"block, which begins with ```{language_of(path)} and ends with ```. Write no other code block."
        )
    entries = ",\n  ".join(f'{{"{path}": "<complete text of the file>"}}' for path in problem.targets)
    return (
        f"The answer is {len(problem.targets)} files. Give them as one JSON object and nothing else: the path of each "
        'file as a key, its complete text as a JSON string (line breaks as \\n, quotes as \\").\n'
        f'{{"code": [\n  {entries}\n]}}'
    )
