"""A path that is called safe stays below its directory, wherever it is joined."""

from pathlib import Path, PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.problems import why_unsafe

from .strategies import any_text

pieces = st.sampled_from(["a", "..", ".", "", "/", "\\", "src", "rtl", "~", " ", "\0", "\n", "a" * 121, "é", "..."])
paths = st.one_of(any_text, st.lists(pieces, max_size=6).map("/".join), st.lists(pieces, max_size=4).map("".join))


@given(paths)
def test_a_safe_path_stays_below(path: str) -> None:
    if why_unsafe(path) is not None:
        return
    joined = Path("/workspace") / path
    assert joined != Path("/workspace")
    assert joined.resolve().is_relative_to("/workspace")
    assert str(joined) == f"/workspace/{path}"
    assert "\0" not in path
    assert ".." not in PurePosixPath(path).parts


@given(st.one_of(paths, st.sampled_from(["rtl/\ud800.sv"])))
def test_a_safe_path_can_be_written(path: str) -> None:
    """Or a record with such a path would be read and then fail in the middle of a grade."""
    if why_unsafe(path) is None:
        assert len(path.encode()) < 4096


@given(st.lists(st.from_regex(r"[a-z0-9_]{1,20}", fullmatch=True), min_size=1, max_size=5))
def test_plain_paths_are_safe(parts: list[str]) -> None:
    assert why_unsafe("/".join(parts)) is None
    assert why_unsafe("/" + "/".join(parts)) is not None
    assert why_unsafe("../" + "/".join(parts)) is not None
    assert why_unsafe("/".join([*parts, "..", "x"])) is not None
    assert why_unsafe("/".join(parts) + "/") is not None
