"""The world of the embedded chain: contracts, pools, people and a market with a past."""
