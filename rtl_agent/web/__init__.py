"""What the project's HTTP servers share. `rules` needs the standard library alone, `app` needs aiohttp."""
