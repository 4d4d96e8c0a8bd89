"""Run by test_trl.py in TRL's environment: a scripted model works in our workspaces under TRL's own trainer.

The model is real but for `generate`: it calls the shell once to write the reference, or nothing, and then answers.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import trl
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from rtl_agent.integrations.trl import RTLSpec
from rtl_agent.local_models import tokenizer_folder

CHAT_TEMPLATE = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"

spec = RTLSpec(sys.argv[1], limit=1, env="agentic", extra_tools=True)
(problem,) = spec.problems.values()
((path, text),) = (problem.reference or {}).items()
tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder("rtl-agent/student"))
tokenizer.chat_template = CHAT_TEMPLATE.read_text()


def call(name: str, **arguments: str) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call><|im_end|>"


WRITE = call("execute_bash", command=f"cat > {path} <<'END'\n{text}\nEND")
SCRIPT = [[WRITE, "Nothing to do.<|im_end|>"], [call("submit")]]  # by round: of each rollout that still plays


class Scripted(Qwen3ForCausalLM):
    round = 0

    def generate(self, *arguments: Any, **options: Any) -> Any:
        input_ids = options["input_ids"]
        said = SCRIPT[self.round % len(SCRIPT)]
        self.round += 1
        rows = [tokenizer.encode(one, add_special_tokens=False) for one in said[: len(input_ids)]]
        width = max(map(len, rows))
        padded = [row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows]
        return torch.cat([input_ids, torch.tensor(padded)], dim=1)


TINY: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16}
HEADS: dict[str, Any] = {"num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": len(tokenizer)}
trainer = GRPOTrainer(
    model=Scripted(Qwen3Config(**TINY, **HEADS)),
    processing_class=tokenizer,
    train_dataset=spec.train_dataset,
    reward_funcs=spec.reward_funcs,
    environment_factory=spec.environment_factory,
    args=GRPOConfig(
        output_dir="out",
        max_steps=1,
        num_generations=2,
        per_device_train_batch_size=2,
        max_completion_length=3000,
        logging_steps=1,
        use_cpu=True,
        report_to="none",
    ),
)
trainer.train()
row = trainer.state.log_history[0]
print(json.dumps({name: row[name] for name in row if name.startswith(("reward", "rtl/", "tools/"))}))
