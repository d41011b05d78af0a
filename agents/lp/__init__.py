"""The liquidity debate: Scout, Strategist, Critic and Arbiter."""
