"""What a promise was kept with: bytes that are sent as they are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

JSON = "application/json"
PROTOBUF = "application/x-protobuf"


@dataclass(frozen=True)
class Answer:
    body: bytes
    content_type: str = JSON


def json_answer(content: Mapping[str, object]) -> Answer:
    return Answer(json.dumps(content).encode())


def failed_answer(sentence: str, category: Literal["user", "server"]) -> Answer:
    """The SDK raises RequestFailedError with this sentence: it is a result, so it travels with status 200."""
    return json_answer({"error": sentence, "category": category})
