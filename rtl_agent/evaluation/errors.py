"""What can go wrong with an evaluation as a whole, in sentences for the person who started it."""


class EvaluationError(Exception):
    """It cannot start or go on. Answers that were graded are kept, and are not asked for again."""

    exit_code = 2


class ModelGone(EvaluationError):
    """Whoever answers for the model does not answer any more."""

    exit_code = 3
