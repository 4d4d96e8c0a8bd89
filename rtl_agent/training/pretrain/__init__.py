"""Small models from scratch, by supervised training on generated problems."""

from rtl_agent.training.pretrain.job import Pretraining, pretrain

__all__ = ["Pretraining", "pretrain"]
