"""Grading over HTTP: `rtl-agent grade-server`. What it promises is in docs/grade-server.md."""
