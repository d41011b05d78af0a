"""Pools: which exist, what they charge, how deep they are, and what their hooks may do."""
