"""The grader in frameworks that people already use: one thin module each, with an extra of its name.

Nothing here is imported by the rest of the package, and each module imports its framework: docs/integrations/index.md.
"""
