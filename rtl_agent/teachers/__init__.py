"""Per-token advice on what a student wrote, from a model that reads the same tokens."""

from rtl_agent.teachers.teacher import SAME_TOKENS, TEACHERS, Advice, SameTokensTeacher, Teacher, TopK

__all__ = ["SAME_TOKENS", "TEACHERS", "Advice", "SameTokensTeacher", "Teacher", "TopK"]
