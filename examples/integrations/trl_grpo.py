"""GRPO with TRL on the bundled problems: `python trl_grpo.py MODEL`, with the extra `trl`.

With a tiny random model, `python trl_grpo.py tiny`, it shows that everything works, in a minute on a CPU.
"""

import sys

from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from rtl_agent.integrations.trl import RTLSpec
from rtl_agent.local_models import tokenizer_folder

spec = RTLSpec("bundled", limit=4)
config = GRPOConfig(
    output_dir="trl-grpo",
    max_steps=2,
    per_device_train_batch_size=4,
    num_generations=4,
    max_completion_length=64,
    logging_steps=1,
    use_cpu=True,
    report_to="none",
)
tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder("rtl-agent/student"))
model = sys.argv[1]
if model == "tiny":
    shape = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2)
