"""Keys: where they are kept, how they are opened, and the one place that signs with them."""
