"""A problem as a workspace with a shell."""
