"""What happened in a pool: its events, the path of its price, and what providing there paid."""
