"""Tool-call formats: how a model is told its tools, how its calls are read, and how it is shown the results."""
