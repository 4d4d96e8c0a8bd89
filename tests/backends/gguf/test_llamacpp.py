"""Real weights, and each rule to cut a text, against llama.cpp itself: the same tokens, and about the same logits."""

import json
import socket
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
import torch
from gguf import GGMLQuantizationType as Type
from transformers import AutoModelForCausalLM, AutoTokenizer

from rtl_agent.backends.gguf import import_gguf
from rtl_agent.backends.gguf.vocabulary import CUTS
from rtl_agent.backends.models.fetch import download
from rtl_agent.backends.models.pins import FETCHABLE
from rtl_agent.problems import load_problems
from tests.backends.gguf.tiny_gguf import random_model, write_tiny_gguf
from tests.envs.vocabularies import qwen3
from tests.teachers.test_llamacpp import SERVER

pytestmark = pytest.mark.slow

SERVE = Path(__file__).parents[2] / "teachers" / "llamacpp_server.py"
STRINGS = [
    "module counter #(parameter N = 16) (input logic clk, rst_n, output logic [N-1:0] q);",
    "always_ff @(posedge clk or negedge rst_n)\n  if (!rst_n) q <= '0;\n  else        q <= q + 1'b1;\n\nendmodule\n",
    "8'hFF 16'b1010_0101 32'd4294967295 1e-9 3.14159 0x1F 123456789 12 345 6",
    "\t\tassign y = a ? b : c;\r\n\r\n\r\n    // note\r\n",
    "   leading, trailing   ", "\n\n\n", " \n \n ", "\t", " ", "a  b   c    d", "x\u00a0y\u3000z\u2028w",
    "It's we'll I'd DON'T they'Re 's'S",
    "Größe ünï naïve Ελληνικά русский עברית العربية हिन्दी 線路 かな 한국어 ไทย",
    "🚀👩‍👩‍👧‍👦🇩🇪 ½ ² Ⅷ ١٢٣ १२३ ４２ ①",
    "<|im_start|>user\nhi<|im_end|>\n<|endoftext|> <tool_call>{}</tool_call> <|not_special|> <think>",
    "```systemverilog\nx<=y;z=>w;a!==b;c===d;e<<<2;f>>>3;&&||~^\n```",
    "$display(\"%0d\", `WIDTH); `ifdef X\n`endif", "\\escaped_id [31:0]",
]  # fmt: skip
ANSWER = """\
module counter #(parameter N = 8) (input logic clk, input logic rst, input logic en, output logic [N-1:0] count);
  always_ff @(posedge clk) begin
    if (rst) count <= '0;
    else if (en) count <= count + 1'b1;
  end
endmodule
"""
_ALPHABET = [
    *"abcXYZ019 _\n\t\r.,;:'\"()[]{}<>|=+-*/\\~`@#$%^&!?",
    "é",
    "線",
    "🚀",
    "½",
    "  ",
    "\n\n",
    "'ll",
    "re",
    "٣",
]


def texts() -> list[str]:
    random = Random(0)
    drawn = ["".join(random.choices(_ALPHABET, k=random.randint(1, 60))) for _ in range(300)]
    problems = [problem.prompt for problem in load_problems("bundled")]
    return [unicodedata.normalize("NFC", text) for text in [*STRINGS, *drawn, *problems]]


Serve = Callable[[Path], Any]


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Serve:
    environment = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "-q", "install", SERVER], check=True)

    @contextmanager
    def started(model: Path) -> Iterator[Callable[..., Any]]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with (environment / "log").open("w") as log, httpx.Client(timeout=300) as client:
            process = subprocess.Popen(
                [python, SERVE, model, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
            assert process.stdout is not None
            try:
                url = process.stdout.readline().strip() or pytest.fail((environment / "log").read_text()[-2000:])
                yield lambda path, **body: client.post(f"{url}{path}", json=body).raise_for_status().json()
            finally:
                process.kill()
                process.wait()

    return started


def check_tokens(ask: Callable[..., Any], directory: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(directory)
    for text in texts():
        theirs = ask("/tokenize", content=text, parse_special=True, add_special=False)["tokens"]
        assert tokenizer.encode(text, add_special_tokens=False) == theirs, repr(text)
        assert tokenizer.decode(theirs) == text


@pytest.mark.parametrize("pre", CUTS)
def test_each_rule_cuts_a_text_as_llama_cpp_does(pre: str, serve: Serve, tmp_path: Path) -> None:
    """Over Qwen3's vocabulary, in a model that computes nothing of sense."""
    known: Any = qwen3()
    ids = known.get_vocab()
    tokens = sorted(ids, key=lambda token: int(ids[token]))
    added = {token.content: token.special for token in known.added_tokens_decoder.values()}
    types = [1 if token not in added else 3 if added[token] else 4 for token in tokens]
    merges = json.loads(known.backend_tokenizer.to_str())["model"]["merges"]
    vocabulary = {
        "tokens": tokens,
        "types": types,
        "merges": [" ".join(one) for one in merges],
        "eos": ids["<|im_end|>"],
    }
    model = random_model("llama", tokens=len(tokens))
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path, "llama", Type.Q8_0, model=model, pre=pre, vocabulary=vocabulary)
    directory = import_gguf(path, tmp_path / "out").directory
    with serve(path) as ask:
        check_tokens(ask, directory)


@pytest.fixture(scope="module", params=FETCHABLE)
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The file as it was downloaded, and what was made of it."""
    folder = tmp_path_factory.mktemp("real")
    file = download(FETCHABLE[request.param], folder)
    return file, import_gguf(file, folder / "model").directory


def test_real_weights_have_llama_cpps_tokens_and_logits(real: tuple[Path, Path], serve: Serve) -> None:
    file, directory = real
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.bfloat16)
    tokenizer: Any = AutoTokenizer.from_pretrained(directory)
    chat = [
        {"role": "user", "content": "Write a counter with a synchronous reset in Verilog."},
        {"role": "assistant", "content": ANSWER},
    ]
    prompt = tokenizer.encode(tokenizer.apply_chat_template(chat, tokenize=False))
    with torch.no_grad():
        ours = model(torch.tensor([prompt])).logits[0].float().log_softmax(-1)
    with serve(file) as ask:
        check_tokens(ask, directory)
        agreed, apart = 0, []
        places = range(len(prompt) - len(tokenizer.encode(ANSWER)), len(prompt))
        for at in places:
            answer = ask("/completion", prompt=prompt[: at + 1], n_predict=1, n_probs=50, temperature=0.0)
            top = answer["completion_probabilities"][0]["top_logprobs"]
            agreed += top[0]["id"] == int(ours[at].argmax())
            apart += [abs(one["logprob"] - float(ours[at, one["id"]])) for one in top[:10]]
    # llama.cpp computes in 8 bits, we in bfloat16.
    print(f"{file}: {agreed} of {len(places)} the same, logprobs differ by {sum(apart) / len(apart):.2f} in the mean")
    assert agreed >= 0.8 * len(places)
    assert sum(apart) / len(apart) < 0.4
