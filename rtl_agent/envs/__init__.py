"""Problems as environments: sessions without tokens, and tinker-cookbook environments over them.

`episode_config`, `session`, `kinds` and the sessions need neither torch nor tinker, so nothing is imported here.
"""
