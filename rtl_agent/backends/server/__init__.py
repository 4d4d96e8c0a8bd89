"""The wire: a Tinker-compatible server over the engine."""
