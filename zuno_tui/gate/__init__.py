"""The gate between a plan and the chain: what is approved is what is shown, and signed once."""
