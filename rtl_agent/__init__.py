"""rtl-agent: train language models to write RTL that obeys its specification."""

__version__ = "0.1.0"
