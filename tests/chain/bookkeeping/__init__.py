"""A wallet's ledger, its stories and what they came to."""
