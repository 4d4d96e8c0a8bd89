"""How hard a problem is for a model: its pass rate so far, kept across runs, and a guess before the first try."""

from rtl_agent.difficulty.estimate import Difficulty, difficulties
from rtl_agent.difficulty.pass_rates import NEVER, PassRates, Tries, TriesOf, default_pass_rates_path
from rtl_agent.difficulty.prior import Prior, fit_prior

__all__ = [
    "NEVER",
    "Difficulty",
    "PassRates",
    "Prior",
    "Tries",
    "TriesOf",
    "default_pass_rates_path",
    "difficulties",
    "fit_prior",
]
