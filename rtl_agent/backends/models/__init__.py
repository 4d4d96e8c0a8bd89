"""The models that ship with the package, and where any model's directory is."""

from rtl_agent.backends.models.registry import OWN, model_directory

__all__ = ["OWN", "model_directory"]
