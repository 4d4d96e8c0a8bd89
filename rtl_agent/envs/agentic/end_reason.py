"""Why an episode is over."""

from enum import StrEnum


class EndReason(StrEnum):
    SUBMIT = "submit"
    ANSWER = "answer"  # a turn without a tool call
    MAX_TURNS = "max_turns"
    MAX_TOKENS = "max_tokens"
    PARSE_ERRORS = "parse_errors"  # too many turns in a row in which no call could be run
    WALL_TIME = "wall_time"
