"""Ways in which models write an answer around one design: each must be read as exactly that design."""

import html
import json
from collections.abc import Callable

Form = Callable[[str, str, str], str]  # (path, module's name, text) -> reply

BENCH = "module tb_{name};\n  {name} dut ();\n  initial $finish;\nendmodule\n"
WRONG = "module {name} (input wire wrong);\nendmodule\n"
TABLE = "| a | y |\n|---|---|\n| 0 | 1 |\n"


def _fenced(text: str, language: str = "verilog") -> str:
    return f"```{language}\n{text}```\n"


def _quoted(text: str) -> str:
    return "".join(f"> {line}" if line.strip() else ">\n" for line in text.splitlines(keepends=True))


def _numbered(text: str, form: str) -> str:
    return "".join(form.format(number, line) for number, line in enumerate(text.splitlines(keepends=True), 1))


def _marked(text: str) -> str:
    return "".join(f"+{line}" for line in text.splitlines(keepends=True))


def _in_two(text: str) -> tuple[str, str]:
    middle = text.rstrip().rfind("\n") + 1
    return text[:middle], text[middle:]


ONE_FILE: dict[str, Form] = {
    "a plain block": lambda path, name, text: _fenced(text),
    "no language": lambda path, name, text: _fenced(text, ""),
    "words around": lambda path, name, text: f"Sure! Here it is:\n\n{_fenced(text)}\nIt has a {{small}} latency.\n",
    "endmodule glued to the fence": lambda path, name, text: f"```verilog\n{text.rstrip()}```\nDone.",
    "a label glued to the fence": lambda path, name, text: f"```verilog\n{text.rstrip()} // {name}```\nDone.",
    "glued, and words after it": lambda path, name, text: f"```verilog\n{text.rstrip()}``` This is it.\n",
    "a longer closing fence": lambda path, name, text: f"```verilog\n{text}`````\nDone.\n",
    "a shorter closing fence": lambda path, name, text: f"````verilog\n{text}```\nDone.\n",
    "text after the closing fence": lambda path, name, text: f"```verilog\n{text}``` and that is all.\n",
    "a tag after the closing fence": lambda path, name, text: f"<answer>```verilog\n{text}```</answer>\n",
    "no closing fence": lambda path, name, text: f"```verilog\n{text}",
    "backticks in the info string": lambda path, name, text: _fenced(text, f"verilog `{path}`"),
    "an attribute in the info string": lambda path, name, text: _fenced(text, f'verilog title="{path}"'),
    "attributes of pandoc": lambda path, name, text: _fenced(text, "{.verilog .numberLines}"),
    "a path in the info string": lambda path, name, text: _fenced(text, f"systemverilog {path}"),
    "a path after a colon": lambda path, name, text: _fenced(text, f"verilog:{path}"),
    "a space before the language": lambda path, name, text: _fenced(text, " SystemVerilog"),
    "called text": lambda path, name, text: _fenced(text, "text"),
    "called something else": lambda path, name, text: _fenced(text, "hdl-code"),
    "tildes": lambda path, name, text: f"~~~verilog\n{text}~~~\n",
    "four backticks": lambda path, name, text: f"````verilog\n{text}````\n",
    "an opening fence behind words": lambda path, name, text: f"The code: ```verilog\n{text}```\n",
    "indented in a list": lambda path, name, text: (
        "1. The module:\n\n   ```verilog\n"
        + "".join(f"   {line}" for line in text.splitlines(keepends=True))
        + "   ```\n2. Done.\n"
    ),
    "a list's own line": lambda path, name, text: f"- ```verilog\n{text}  ```\n- Done.\n",
    "quoted": lambda path, name, text: _quoted(f"Here it is:\n\n{_fenced(text)}\nDone.\n"),
    "quoted in part": lambda path, name, text: f"You asked for it:\n\n{_quoted(_fenced(text))}\nThere.\n",
    "answer tags around bare code": lambda path, name, text: f"<answer>\n{text}</answer>\n",
    "code tags on the lines of the code": lambda path, name, text: f"<code>{text.rstrip()}</code>\n",
    "final tags after a draft": lambda path, name, text: (
        f"{_fenced(WRONG.format(name=name))}\n<final>\n{_fenced(text)}</final>\nBye.\n"
    ),
    "an answer before alternatives": lambda path, name, text: (
        f"<answer>\n{_fenced(text)}</answer>\nOr else:\n{_fenced(WRONG.format(name=name))}"
    ),
    "html": lambda path, name, text: f'<pre><code class="language-verilog">{html.escape(text).rstrip()}</code></pre>\n',
    "escaped in a block": lambda path, name, text: _fenced(html.escape(text, quote=False)),
    "nothing but code": lambda path, name, text: text,
    "prose around bare code": lambda path, name, text: f"Here is the module:\n\n{text}\nIt counts up.\n",
    "prose that begins like code": lambda path, name, text: f"module {name} is what you want:\n\n{text}",
    "latex": lambda path, name, text: f"\\begin{{lstlisting}}\n{text}\\end{{lstlisting}}\n",
    "json with the path": lambda path, name, text: json.dumps({"code": [{path: text}]}),
    "json without a list": lambda path, name, text: json.dumps({path: text}),
    "json with the file's name only": lambda path, name, text: json.dumps({path.rpartition("/")[2]: text}),
    "json of files": lambda path, name, text: json.dumps({"files": [{"path": path, "content": text}]}),
    "json response": lambda path, name, text: json.dumps({"response": text}),
    "json response with a fence": lambda path, name, text: json.dumps({"response": f"Here:\n{_fenced(text)}Done."}),
    "json with an explanation": lambda path, name, text: json.dumps({"explanation": "It counts.", "rtl": text}),
    "json of lines": lambda path, name, text: json.dumps({"code": text.split("\n")}),
    "json with raw line ends": lambda path, name, text: json.dumps({"code": [{path: text}]}).replace("\\n", "\n"),
    "json escaped twice": lambda path, name, text: json.dumps({"response": text.replace("\n", "\\n")}),
    "json after a brace": lambda path, name, text: (
        f"As {{you}} like {{ it:\n{json.dumps({'code': [{path: text}]})}\n}}"
    ),
    "json in a block": lambda path, name, text: (
        f"So:\n```json\n{json.dumps({'code': [{path: text}]}, indent=1)}\n```\nOk?"
    ),
    "json of something else before it": lambda path, name, text: (
        f"```json\n{json.dumps({'width': 8, 'name': 'x'})}\n```\n{_fenced(text)}"
    ),
    "a heading": lambda path, name, text: f"### {path}\n\n{_fenced(text)}",
    "a bold name": lambda path, name, text: f"**{path}**\n{_fenced(text)}",
    "a shell before and after": lambda path, name, text: (
        f"```bash\nmkdir rtl && ls rtl/*\n```\n{_fenced(text)}```sh\niverilog {path}\n```\n"
    ),
    "a table before": lambda path, name, text: f"```\n{TABLE}```\n{_fenced(text)}",
    "text after": lambda path, name, text: f"{_fenced(text)}```text\nmodule list:\n  {name} (top)\n```\n",
    "a shell that writes the file": lambda path, name, text: f"```bash\ncat > {path} <<'EOF'\n{text}EOF\n```\n",
    "a bench after": lambda path, name, text: f"{_fenced(text)}\nA test:\n{_fenced(BENCH.format(name=name))}",
    "a bench before": lambda path, name, text: f"{_fenced(BENCH.format(name=name))}{_fenced(text)}",
    "a fragment after": lambda path, name, text: f"{_fenced(text)}\nThe core:\n{_fenced('assign y = a;' + chr(10))}",
    "an instance after": lambda path, name, text: (
        f"{_fenced(text)}\nUse:\n{_fenced(f'{name} u_dut (.a(a));' + chr(10))}"
    ),
    "a draft before": lambda path, name, text: f"{_fenced(WRONG.format(name=name))}\nNo, better:\n{_fenced(text)}",
    "a cut-off block after": lambda path, name, text: f"{_fenced(text)}\nOr:\n```verilog\nmodule {name} (input wire a",
    "an unclosed draft before": lambda path, name, text: f"```verilog\nmodule {name} (\nHm, no.\n\n{_fenced(text)}",
    "thinking with a draft": lambda path, name, text: (
        f"<think>{_fenced(WRONG.format(name=name))}</think>{_fenced(text)}"
    ),
    "thinking whose start was in the prompt": lambda path, name, text: (
        f"Try:\n{_fenced(WRONG.format(name=name))}Good.\n</think>\n\n{_fenced(text)}"
    ),
    "thinking with an open fence": lambda path, name, text: (
        f"<think>\n```verilog\nmodule {name} (\nno\n</think>\n{_fenced(text)}"
    ),
    "thinking after the answer": lambda path, name, text: f"{_fenced(text)}<think>\nWas it right?\n</think>\nYes.\n",
    "thinking in parts": lambda path, name, text: f"<think>a</think>\n<think>b</think>\n{_fenced(text)}",
    "thinking by another name": lambda path, name, text: (
        f"<reasoning>\n{_fenced(WRONG.format(name=name))}</reasoning>\n<answer>\n{_fenced(text)}</answer>"
    ),
    "words about thinking": lambda path, name, text: f"I thought before `</think>` about it.\n{_fenced(text)}",
    "a block in a markdown example": lambda path, name, text: f"````markdown\n# Design\n{_fenced(text)}\nDone.\n````\n",
    "a block in a block of the same fence": lambda path, name, text: (
        f"```markdown\n# Design\n{_fenced(text)}Done.\n```\n"
    ),
    "windows line ends": lambda path, name, text: f"Here:\r\n```verilog\r\n{text}```\r\n",
    "a byte order mark": lambda path, name, text: f"\ufeff{_fenced(text)}",
    "no language, on the line of the fence": lambda path, name, text: f"```{text}```\n",
    "code on the line of the fence": lambda path, name, text: f"```verilog {text}```\n",
    "the file's name as the first line": lambda path, name, text: f"```\n{path}\n{text}```\n",
    "an outline after": lambda path, name, text: (
        f"{_fenced(text)}In short:\n```\nmodule {name} (...);\nendmodule\n```\n"
    ),
    "an outline in comments after": lambda path, name, text: (
        f"{_fenced(text)}So:\n```verilog\nmodule {name} (input a);\n  // ... as above\nendmodule\n```\n"
    ),
    "a wrapper after": lambda path, name, text: (
        f"{_fenced(text)}```verilog\nmodule top (input a);\n  {name} u ();\nendmodule\n```\n"
    ),
    "a model in Python before": lambda path, name, text: (
        f'```python\ndef f():\n  "module {name}"\n```\n{_fenced(text)}'
    ),
    "a log after": lambda path, name, text: f"{_fenced(text)}```\nVCD info: module {name} ok\n```\n",
    "a fence in prose": lambda path, name, text: f"I will wrap it in ```\n{_fenced(text)}",
    "a control token after it": lambda path, name, text: f"{_fenced(text)}<|im_end|>",
    "quoted twice": lambda path, name, text: _quoted(_quoted(_fenced(text))),
    "old line ends": lambda path, name, text: f"Here:\n{_fenced(text)}".replace("\n", "\r"),
    "nested thinking": lambda path, name, text: f"<think>a <think>b</think> c</think>\n{_fenced(text)}",
    "thinking with an attribute": lambda path, name, text: (
        f'<think n="1">\n{_fenced(text)[:40]}</think>{_fenced(text)}'
    ),
    "an artifact": lambda path, name, text: f'<artifact type="code" language="verilog">\n{text}</artifact>\n',
    "three apostrophes": lambda path, name, text: f"'''verilog\n{text}'''\n",
    "prose in the block": lambda path, name, text: _fenced(f"Here is the module:\n{text}\nIt counts `up`.\n"),
    "an explanation in a block that nobody closed": lambda path, name, text: (
        f"```verilog\n{text}\n### How it works\n- **Reset**: none\n- `q` wraps; see above.\n"
    ),
    "a closing fence that was cut": lambda path, name, text: f"```verilog\n{text}``",
    "a comment of another language with the path": lambda path, name, text: _fenced(f"# File: {path}\n{text}"),
    "a button of a chat page": lambda path, name, text: f"```verilog\nCopy code\n{text}```\n",
    "numbered lines": lambda path, name, text: _fenced(_numbered(text, "{:4d} | {}")),
    "numbered lines with dots": lambda path, name, text: _fenced(_numbered(text, "{:02d}. {}")),
    "numbered lines in brackets": lambda path, name, text: _fenced(_numbered(text, "[{}] {}")),
    "numbered lines with a letter": lambda path, name, text: _fenced(_numbered(text, "L{}: {}")),
    "numbered lines with a blank": lambda path, name, text: _fenced(_numbered(text, "{:3d} {}")),
    "escaped twice": lambda path, name, text: _fenced(html.escape(html.escape(text, quote=False), quote=False)),
    "apostrophes by their number": lambda path, name, text: _fenced(text.replace("'", "&#39;")),
    "boxed": lambda path, name, text: f"\\boxed{{\n{text}}}\n",
    "numbered lines as cat prints them": lambda path, name, text: _fenced(_numbered(text, "{:6d}\t{}")),
    "quoted without a fence": lambda path, name, text: f"As you asked:\n\n{_quoted(text)}\nThere.\n",
    "underscores escaped for Markdown": lambda path, name, text: _fenced(text.replace("_", "\\_")),
    "html with breaks": lambda path, name, text: f"<code>{html.escape(text).rstrip()}</code>".replace("\n", "<br>\n"),
    "html with a span for each line": lambda path, name, text: (
        "<pre>" + "\n".join(f"<span>{html.escape(line)}</span>" for line in text.rstrip().split("\n")) + "</pre>"
    ),
    "a string of JSON": lambda path, name, text: json.dumps(_fenced(text)),
    "a string of JSON in a string": lambda path, name, text: json.dumps(json.dumps({"code": text})),
    "line ends escaped": lambda path, name, text: _fenced(text).replace("\n", "\\n"),
    "json with a comma too many": lambda path, name, text: f'{{"code": [{{"{path}": {json.dumps(text)},}},]}}',
    "json with comments": lambda path, name, text: f'{{\n  // the file\n  "{path}": {json.dumps(text)}\n}}',
    "json with apostrophes": lambda path, name, text: str({"code": [{path: text}]}),
    "json with a bare key": lambda path, name, text: f"{{code: {json.dumps(text)}}}",
    "json with three quotes": lambda path, name, text: f'{{"{path}": """\n{text}"""}}',
    "json without its end": lambda path, name, text: json.dumps({"code": [{path: text}]})[:-3],
    "json with a path from here": lambda path, name, text: json.dumps({f"./{path}": text}),
    "json with an absolute path": lambda path, name, text: json.dumps({f"/code/{path}": text}),
    "a tool call": lambda path, name, text: (
        "<tool_call>\n" + json.dumps({"name": "write", "arguments": {"path": path, "content": text}}) + "\n</tool_call>"
    ),
    "a tool call with its arguments as a string": lambda path, name, text: json.dumps(
        {"function": {"name": "write", "arguments": json.dumps({"file_path": path, "file_text": text})}}
    ),
    "a tool call in XML": lambda path, name, text: (
        f"<function=write>\n<parameter=path>\n{path}\n</parameter>\n<parameter=content>\n{text}</parameter>\n</function>"
    ),
    "a diff of a new file": lambda path, name, text: _fenced(
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(text.splitlines())} @@\n{_marked(text)}", "diff"
    ),
    "a bare diff of a new file": lambda path, name, text: (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1,{len(text.splitlines())} @@\n{_marked(text)}"
    ),
    "a patch that adds the file": lambda path, name, text: (
        f"*** Begin Patch\n*** Add File: {path}\n{_marked(text)}*** End Patch\n"
    ),
    "search and replace of a new file": lambda path, name, text: (
        f"{path}\n```verilog\n<<<<<<< SEARCH\n=======\n{text}>>>>>>> REPLACE\n```\n"
    ),
    "a change of a draft": lambda path, name, text: (
        f"{_fenced(text.replace('endmodule', 'initial broken;' + chr(10) + 'endmodule', 1))}\nNo, without:\n"
        f"{_fenced('-initial broken;' + chr(10), 'diff')}"
    ),
    "a template of JavaScript": lambda path, name, text: f"```js\nconst code = `\n{text}`;\n```\n",
    "a final channel": lambda path, name, text: (
        f"<|channel|>analysis<|message|>{_fenced(WRONG.format(name=name))}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{_fenced(text)}<|return|>"
    ),
    "in two blocks": lambda path, name, text: "And then\n".join(map(_fenced, _in_two(text))),
}
