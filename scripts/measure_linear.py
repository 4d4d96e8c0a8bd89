"""How fast one thread multiplies by a bfloat16 layer: as it is in a file, and laid out by oneDNN for few rows.

    python scripts/measure_linear.py [--width 1536] [--inner 8960]

Few rows (tokens that are decoded together) are bound by reading the weights, many (prompts, training) by products.
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch.nn import functional as F

from rtl_agent.backends.engine.causal_lm.base_model import pack


def seconds(work: Callable[[], object], turns: int = 5) -> float:
    """CPU time of one thread; the first turn warms up."""
    spent = []
    for _ in range(turns + 1):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return sorted(spent[1:])[turns // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1536)
    parser.add_argument("--inner", type=int, default=8960)
    options = parser.parse_args()
    torch.set_num_threads(1)
    weight = torch.randn(options.inner, options.width).bfloat16()
    packed = pack(weight)
    size, products = weight.numel() * 2 / 1e9, 2 * weight.numel() / 1e9
    print("rows   plain GB/s  packed GB/s   plain GFLOP/s  packed GFLOP/s")
    for rows in (1, 8, 16, 32, 320, 1024):
        x = torch.randn(rows, options.width).bfloat16()
        plain = seconds(lambda x=x: F.linear(x, weight))
        laid_out = seconds(lambda x=x: torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], ""))
        print(
            f"{rows:<6} {size / plain:>9.1f} {size / laid_out:>12.1f} {rows * products / plain:>15.0f} "
            f"{rows * products / laid_out:>15.0f}"
        )


if __name__ == "__main__":
    main()
