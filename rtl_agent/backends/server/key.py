"""API keys: the SDK refuses any that does not start with tml-."""

import secrets

KEY_PREFIX = "tml-"


def new_key() -> str:
    return KEY_PREFIX + secrets.token_urlsafe(24)
