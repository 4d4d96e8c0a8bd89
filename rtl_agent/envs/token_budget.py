"""How long a conversation may become."""


class TokenBudget:
    """The part of an episode's rules that counts tokens; the rules themselves say how many."""

    max_tokens: int | None  # of the whole conversation: prompt, turns and observations
    turn_tokens: int  # an episode ends by max_tokens when the next turn could not be at least this long

    def has_room(self, tokens: int) -> bool:
        """Whether another turn may follow a conversation of this length."""
        return self.max_tokens is None or tokens + self.turn_tokens <= self.max_tokens
