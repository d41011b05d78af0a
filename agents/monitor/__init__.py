"""The watch over positions: what is risky, which alerts live, and how they reach a person."""
