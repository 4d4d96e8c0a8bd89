"""A run as one page: `report.html`, and its curves as PNG files."""
