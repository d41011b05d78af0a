"""What stands beside liquidity: each feature in its folder, unknown to the rest of the app."""
