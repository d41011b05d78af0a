"""Venues of perpetual contracts: what they publish, orders, the paper venue, the journal."""
