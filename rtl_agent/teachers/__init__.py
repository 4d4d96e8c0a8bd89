"""Per-token advice on what a student wrote, from any model on any server, whatever tokens it reads."""

from rtl_agent.teachers.other_tokens import Alignment
from rtl_agent.teachers.reading import Island, Reading, Span
from rtl_agent.teachers.scorer import Scorer, Scores, ScoringError, TinkerScorer, TopK
from rtl_agent.teachers.teacher import OTHER_TOKENS, SAME_TOKENS, TEACHERS, Advice, Teacher, TeacherSetup

__all__ = [
    "OTHER_TOKENS",
    "SAME_TOKENS",
    "TEACHERS",
    "Advice",
    "Alignment",
    "Island",
    "Reading",
    "Scorer",
    "Scores",
    "ScoringError",
    "Span",
    "Teacher",
    "TeacherSetup",
    "TinkerScorer",
    "TopK",
]
