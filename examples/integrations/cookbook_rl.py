"""tinker-cookbook's own training program, `rl.train`, as a command; it is given our problems by name.

    rtl-agent serve rtl-agent/student --key tml-example
    export TINKER_API_KEY=tml-example TINKER_BASE_URL=http://127.0.0.1:8910
    python cookbook_rl.py model_name=rtl-agent/student recipe_name=rtl learning_rate=1e-3 max_tokens=200 max_steps=2 \\
        log_path=cookbook-run dataset_builder=rtl_agent.integrations.tinker_cookbook:RTLDatasetBuilder \\
        dataset_builder.model_name_for_tokenizer=rtl-agent/student dataset_builder.problems=generated:mux \\
        dataset_builder.max_tokens=200
"""

import asyncio

import chz
from tinker_cookbook.rl import train

if __name__ == "__main__":
    asyncio.run(train.main(chz.entrypoint(train.Config)))
