"""References of agentic records: unified hunks, applied exactly or not at all."""

import difflib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.problems.cvdp import PatchError, apply_patch

LINES = st.lists(st.sampled_from(["a", "b", "  c", "", "+d", "-e", "@@ -1 +1 @@", "\\ x"]), max_size=12)


def hunks(old: str, new: str) -> str:
    return "".join(list(difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True)))[2:])


@given(LINES, LINES)
def test_what_difflib_writes_is_applied(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    assert apply_patch(before, hunks(before, after)) == after


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_applied_or_refused(original: str, diff: str) -> None:
    with suppress(PatchError):
        apply_patch(original, diff)


def test_a_file_without_a_last_newline() -> None:
    assert (
        apply_patch("a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n")
        == "a\nc"
    )


@pytest.mark.parametrize(
    "diff", ["garbage\n", "@@ -1,2 +1,2 @@\n a\n", "@@ -5,1 +5,1 @@\n-a\n+b\n", "@@ -1 +1 @@\n-x\n+b\n"]
)
def test_a_diff_that_does_not_fit_is_refused(diff: str) -> None:
    with pytest.raises(PatchError):
        apply_patch("a\n", diff)
