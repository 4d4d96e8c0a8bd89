"""How files are read off a model's reply: a choice of whoever grades, recorded in every result."""

from enum import StrEnum


class Extraction(StrEnum):
    """`forgiving` finds the target's module wherever and however it stands; `cvdp` reads as CVDP's runner does."""

    FORGIVING = "forgiving"
    CVDP = "cvdp"


DEFAULT_EXTRACTION = Extraction.FORGIVING
