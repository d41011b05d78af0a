"""The liquidity debate: Scout, Strategist, Critic and Arbiter."""

FLOW = "lp"
"""As records and plans name this flow."""
ROLES = ("scout", "strategist", "critic", "arbiter")
"""In the order in which they first speak. Here, so that a command's help imports no debate."""
