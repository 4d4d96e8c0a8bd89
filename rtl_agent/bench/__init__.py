"""What grading costs: CPU for each grade, throughput, and memory over thousands of grades."""
