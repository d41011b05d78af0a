"""The numbers that judge a position: pure functions of what was measured, the same everywhere."""
