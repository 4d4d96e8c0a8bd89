"""GRPO with TRL on the bundled problems, with a tiny random model: two steps, to see that every part works.

For a real run name a real model, and leave out what makes the steps small. `pip install 'rtl-agent[trl]'` installs TRL.
"""

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from rtl_agent.integrations.trl import RTLSpec
from rtl_agent.local_models import tokenizer_folder

spec = RTLSpec("bundled", limit=2)
tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder("rtl-agent/student"))
tiny: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16}
heads: dict[str, Any] = {"num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": len(tokenizer)}
trainer = GRPOTrainer(
    model=Qwen3ForCausalLM(Qwen3Config(**tiny, **heads)),
    processing_class=tokenizer,
    train_dataset=spec.train_dataset,
    reward_funcs=spec.reward_funcs,
    args=GRPOConfig(
        output_dir=str(Path.cwd() / "trl-grpo"),
        max_steps=2,
        num_generations=2,
        per_device_train_batch_size=2,
        max_completion_length=16,
        logging_steps=1,
        use_cpu=True,
        report_to="none",
    ),
)
trainer.train()
for row in trainer.state.log_history[:2]:
    print(row["step"], row["reward"], row["rtl/format_valid"], row["rtl/errors"])
