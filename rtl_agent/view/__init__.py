"""Runs and evaluations in the browser: what `rtl-agent view` serves."""

from rtl_agent.view.bundle import BundleError, write_bundle
from rtl_agent.view.data import Decoder, Library
from rtl_agent.view.server import Viewer

__all__ = ["BundleError", "Decoder", "Library", "Viewer", "write_bundle"]
