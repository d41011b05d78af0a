"""The embedded world's exchange: perpetual contracts on the same prices the pools trade at."""
