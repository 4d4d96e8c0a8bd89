"""What can go wrong in a run, as sentences for the person who started it."""


class TrainingError(Exception):
    """The run cannot start or continue. What was done so far is kept."""

    exit_code = 1


class BadConfig(TrainingError):
    """An option has a value that cannot work."""

    exit_code = 2


class BackendGone(TrainingError):
    """The server that holds the model no longer answers."""

    exit_code = 3


class LossNotFinite(TrainingError):
    """The loss, or what the student computes, is NaN or infinite."""

    exit_code = 4

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not finite: lower learning_rate, or set grad_clip_norm=1.0, and resume from the last checkpoint"
        )
