"""What runs inside a box as its pid 1. Imports nothing but a few modules of the standard library."""
