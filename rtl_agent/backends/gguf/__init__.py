"""GGUF files, llama.cpp's format, into directories in Hugging Face's layout."""

from rtl_agent.backends.gguf.convert import Imported, import_gguf
from rtl_agent.backends.gguf.header import BadGguf

__all__ = ["BadGguf", "Imported", "import_gguf"]
