"""Opinions: the numbers that judge a position, and the agents that argue over them."""
