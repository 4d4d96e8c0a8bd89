"""Counts and long texts, as a person wants to read them."""

# A page with six endless answers would not open on a phone.
MOST_CHARACTERS = 20_000


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def cut(words: str, most: int = MOST_CHARACTERS) -> str:
    if len(words) <= most:
        return words
    return f"{words[:most]}\n({len(words) - most} more characters)"
