"""The embedded server passes every check of the conformance suite."""

import pytest

from rtl_agent.backends.conformance import CHECKS, Subject, run_check
from rtl_agent.backends.connect import Connection


@pytest.mark.parametrize("name", CHECKS)
async def test_embedded_server(name: str, connection: Connection, tiny_model: str) -> None:
    subject = Subject(connection.service, tiny_model, connection.base_url, connection.api_key)
    result = await run_check(name, subject, most_seconds=60)
    assert result.passed, result.message
