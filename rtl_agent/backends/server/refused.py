"""Requests that are answered with a 4xx and a sentence."""


class Refused(Exception):
    """`status` is the HTTP status; the sentence is for the person whose program asked."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def bad_request(sentence: str) -> Refused:
    return Refused(400, sentence)


def not_found(sentence: str) -> Refused:
    return Refused(404, sentence)
