"""Run in NeMo Gym's environment: answers to the resources server's own HTTP application, and what it says, as JSON."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from fastapi.testclient import TestClient
from nemo_gym.server_utils import ServerClient

import rtl_agent as ra
from rtl_agent.grading.executors import EXECUTORS, ExecutorFault
from rtl_agent.integrations.nemo_gym import RTLResourcesServer, RTLServerConfig


class NobodyThere:
    """An executor whose machine is gone."""

    def __init__(self, **options: object) -> None:
        pass

    async def fingerprint(self, cocotb_version: object) -> Mapping[str, str]:
        raise ExecutorFault("nobody is there")

    async def aclose(self) -> None:
        pass


EXECUTORS.register("nobody")(NobodyThere)


def client(**options: Any) -> TestClient:
    config = RTLServerConfig(host="127.0.0.1", port=8080, entrypoint="app.py", name="rtl_agent", **options)
    made = RTLResourcesServer(config=config, server_client=MagicMock(spec=ServerClient))
    return TestClient(made.setup_webserver())


def said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    thought = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "```module x;```"}]}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
    common = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {"id": "x", "created_at": 0.0, "model": "m", "object": "response", "output": [thought, message], **common}


def main() -> None:
    rows = {row["problem_id"]: row for row in map(json.loads, Path(sys.argv[1]).read_text().splitlines())}
    identifier = "rtl_barrel_shifter_0001"
    problem = next(one for one in ra.load_problems("bundled") if one.id == identifier)
    (design,) = (problem.reference or {}).values()
    right, wrong = f"```systemverilog\n{design}```", "```systemverilog\nmodule x; endmodule\n```"
    server, broken = client(), client(executor="nobody")
    row, unknown = rows[identifier], {**rows[identifier], "problem_id": "no_such_0001"}
    answers = {
        "right": server.post("/verify", json={**row, "response": said(right)}),
        "wrong": server.post("/verify", json={**row, "response": said(wrong)}),
        "silent": server.post("/verify", json={**row, "response": {**said(""), "output": []}}),
        "error": broken.post("/verify", json={**row, "response": said(right)}),
        "unknown": server.post("/verify", json={**unknown, "response": said(right)}),
    }
    print("\n" + json.dumps({name: [answer.status_code, answer.json()] for name, answer in answers.items()}))


if __name__ == "__main__":
    main()
