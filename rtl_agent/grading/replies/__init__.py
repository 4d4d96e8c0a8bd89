"""The parts of reading a model's reply. All of it is hostile text: every pattern here takes linear time."""
