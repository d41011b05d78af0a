"""The lab: what the advice is worth, on past prices, on recorded debates and on its own past."""
