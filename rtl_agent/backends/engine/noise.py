"""Random numbers by (seed, position): what a sequence draws does not depend on who shares its batch."""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)


def _mixed(words: Words) -> Words:
    """SplitMix64's finaliser: every bit of a word reaches every bit of the result."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def uniforms(seeds: Words, positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """One number in [0, 1) for each pair. 52 bits: then u * total < total holds in floating point too."""
    words = _mixed(_mixed(seeds + _STEP) + (positions.astype(np.uint64) + np.uint64(1)) * _STEP)
    return (words >> np.uint64(12)).astype(np.float64) * 2.0**-52


def seed_word(seed: int) -> int:
    return seed & 0xFFFFFFFFFFFFFFFF
