"""The liquidity debate: Scout, Strategist, Critic and Arbiter."""

FLOW = "lp"
"""As records and plans name this flow."""
