"""Per-token advice on what a student wrote, from a model that reads the same tokens."""

from rtl_agent.teachers.teacher import Advice, Teacher, TopK

__all__ = ["Advice", "Teacher", "TopK"]
