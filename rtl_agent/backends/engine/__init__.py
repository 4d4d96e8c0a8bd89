"""The work behind the wire: models, sampling, losses, optimiser, snapshots and checkpoints. Knows nothing of HTTP."""
