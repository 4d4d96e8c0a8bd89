"""Waves of a graded answer: its simulations once more, and what of them is worth looking at.

`simulate.py` runs a simulation again with its seed, `window.py` finds the cycles around a failure in what it wrote.
"""
