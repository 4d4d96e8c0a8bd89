"""The OpenAPI schema: of the requests as they are checked, and of the answers as they are written."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from rtl_agent import __version__
from rtl_agent.grading import Grade
from rtl_agent.problems import Kind
from rtl_agent.service import bodies
from rtl_agent.service.metrics import CONTENT_TYPE

_REF = "#/components/schemas/"
_JSON = "application/json"
JOB_ID = "^[0-9a-f]{32}$"

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_FILES: dict[str, Any] = {"type": "object", "additionalProperties": _TEXT}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_OWN = {
    "Error": {
        "description": "Why a request was refused: a sentence, and where programs can act on it a code.",
        "type": "object",
        "properties": {"error": _TEXT, "code": _TEXT},
        "required": ["error"],
    },
    "Health": _object(status={"enum": ["ok", "stopping"]}),
    "ProblemHead": _object(
        id=_TEXT,
        family=_TEXT,
        category=_TEXT,
        difficulty=_TEXT,
        kind={"enum": [kind.value for kind in Kind]},
        targets=_TEXTS,
    ),
    "Problem": _object(
        id=_TEXT,
        family=_TEXT,
        category=_TEXT,
        difficulty=_TEXT,
        kind={"enum": [kind.value for kind in Kind]},
        targets=_TEXTS,
        prompt=_TEXT,
        context=_FILES,
        system_message={"type": ["string", "null"]},
    ),
    "Problems": _object(problems={"type": "array", "items": {"$ref": f"{_REF}ProblemHead"}}),
    "Executor": _object(
        version=_TEXT,
        grading_version=_TEXT,
        jobs={"type": "integer"},
        waiting={"type": "integer"},
        most_timeout_seconds={"type": "number"},
        deadline_seconds={"type": "number"},
        accepts_problems={"type": "boolean"},
        fingerprints={"type": "object", "additionalProperties": _FILES},
    ),
}
_REFUSALS = {
    400: "It is not valid JSON.",
    401: "The key is missing or wrong.",
    403: "The server does not take problems, or is not reached by its own name.",
    404: "There is no such problem.",
    405: "There is no such method here.",
    408: "The body did not come in time.",
    409: "In the right form, but not for this server: another problem of that id, other tools, a longer time limit.",
    413: "The body is too large, or has more submissions than the server takes.",
    415: "The body is not application/json.",
    422: "A field is missing or cannot be what it is.",
    429: "The queue is full.",
    500: "The server failed; its log has the details.",
    503: "The server is stopping.",
    504: "The deadline passed before the grade was made.",
}
_OPEN = (403, 405, 500)
_KEYED = (401, *_OPEN)
_WORKING = (400, 408, 409, 413, 415, 422, 429, 503, 504, *_KEYED)


def schema(example: Mapping[str, Any] | None, *, accepts_problems: bool) -> dict[str, Any]:
    """OpenAPI 3.1. `example` is a submission to a problem of the set."""
    models: list[Any] = [bodies.Reply, bodies.FilesFor, bodies.Job]
    if accepts_problems:
        models += [bodies.ReplyToRecord, bodies.FilesForRecord, bodies.JobWithProblem]
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]] = [
        (model.__name__, "validation", TypeAdapter(model)) for model in models
    ]
    names, defs = TypeAdapter.json_schemas(
        [*inputs, ("Grade", "serialization", TypeAdapter(Grade))], ref_template=_REF + "{model}"
    )
    submitted = {
        "anyOf": [names[model.__name__, "validation"] for model in models if not issubclass(model, bodies.Job)]
    }
    jobs = {"anyOf": [names[model.__name__, "validation"] for model in models if issubclass(model, bodies.Job)]}
    many = {"type": "array", "items": submitted, "minItems": 1, "maxItems": bodies.MOST_AT_ONCE}
    grade = names["Grade", "serialization"]
    examples = {"one": {"value": dict(example)}, "many": {"value": [dict(example)]}} if example else {}
    job_id = _parameter("id", JOB_ID, "Chosen by the client, a new one for each job.")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rtl-agent grade-server",
            "version": __version__,
            "description": "Grades RTL. An outcome of `error` is a fault of the server, never a reward of 0.",
        },
        "components": {
            "schemas": {**defs.get("$defs", {}), **_OWN},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
        "paths": {
            "/healthz": {
                "get": _operation(
                    "healthz", "Whether it takes jobs.", "Health", (*_OPEN, 503), of_503="Health", open=True
                )
            },
            "/openapi.json": {"get": _operation("openapi", "This schema.", {"type": "object"}, _OPEN, open=True)},
            "/metrics": {"get": _operation("metrics", "For Prometheus.", _TEXT, _KEYED, content=CONTENT_TYPE)},
            "/problems": {"get": _operation("problems", "The problems that can be graded.", "Problems", _KEYED)},
            "/problems/{id}": {
                "parameters": [_parameter("id", None, "Its id.", str(example["problem"]) if example else None)],
                "get": _operation(
                    "problem", "What a problem asks. Harness and reference stay here.", "Problem", (404, *_KEYED)
                ),
            },
            "/grade": {
                "post": _operation(
                    "grade",
                    "Grade one submission, or many: a list gets a list of grades in the same order.",
                    {"anyOf": [grade, {"type": "array", "items": grade}]},
                    (404, *_WORKING),
                    body={"schema": {"anyOf": [submitted, many]}, **({"examples": examples} if examples else {})},
                )
            },
            "/executor": {"get": _operation("executor", "What rtl-agent's own client asks first.", "Executor", _KEYED)},
            "/jobs/{id}": {
                "parameters": [job_id],
                "post": _operation(
                    "run_job",
                    "Run a job. Sent again by the same id it is not run again.",
                    grade,
                    (404, *_WORKING),
                    body={"schema": jobs},
                ),
                "delete": _operation(
                    "delete_job", "Cancel a job; its box is gone when the answer comes.", None, (404, *_KEYED)
                ),
            },
        },
    }


def _parameter(name: str, pattern: str | None, description: str, example: str | None = None) -> dict[str, Any]:
    schema = {**_TEXT, **({"pattern": pattern} if pattern else {"minLength": 1})}
    given = {"example": example} if example else {}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema, **given}


def _operation(
    name: str,
    summary: str,
    answer: str | Mapping[str, Any] | None,
    refusals: tuple[int, ...],
    *,
    content: str = _JSON,
    body: Mapping[str, Any] | None = None,
    of_503: str = "Error",
    open: bool = False,
) -> dict[str, Any]:
    answered = {"$ref": _REF + answer} if isinstance(answer, str) else answer
    good: dict[str, Any] = {"description": "Done."}
    if answered is not None:
        good["content"] = {content: {"schema": answered}}
    responses = {"200" if answered is not None else "204": good}
    for status in sorted(refusals):
        responses[str(status)] = _refusal(status, of_503 if status == 503 else "Error")
    found: dict[str, Any] = {"operationId": name, "summary": summary, "responses": responses}
    if body is not None:
        found["requestBody"] = {"required": True, "content": {_JSON: body}}
    if open:
        found["security"] = []
    return found


def _refusal(status: int, schema: str) -> dict[str, Any]:
    wait = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    headers = {"headers": wait} if status in (429, 503) and schema == "Error" else {}
    return {
        "description": _REFUSALS[status],
        "content": {_JSON: {"schema": {"$ref": _REF + schema}}},
        **headers,
    }
