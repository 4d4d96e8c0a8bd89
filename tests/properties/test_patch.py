"""Applying a diff gives back what it was made of; any other diff is refused by one exception."""

import difflib
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.problems.cvdp import PatchError, apply_patch

from .strategies import any_text

lines = st.lists(
    st.sampled_from(["a", "b", "  c", "", "@@ -1 +1 @@", "-x", "+y", "\\ no", "--- a", "+++ b"]), max_size=12
)


def unified(before: list[str], after: list[str]) -> str:
    made = difflib.unified_diff([f"{x}\n" for x in before], [f"{x}\n" for x in after], n=2)
    return "".join(list(made)[2:])


@given(lines, lines)
def test_a_diff_leads_from_one_text_to_the_other(before: list[str], after: list[str]) -> None:
    text = "".join(f"{line}\n" for line in before)
    assert apply_patch(text, unified(before, after)) == "".join(f"{line}\n" for line in after)


@given(lines, lines, lines)
def test_a_diff_of_another_text_is_refused_or_fits(before: list[str], after: list[str], other: list[str]) -> None:
    with suppress(PatchError):
        apply_patch("".join(f"{line}\n" for line in other), unified(before, after))


@given(any_text, st.one_of(any_text, any_text.map(lambda text: f"@@ -1,2 +1,2 @@\n{text}")))
def test_any_text_as_a_diff(original: str, diff: str) -> None:
    with suppress(PatchError):
        apply_patch(original, diff)
