"""The rule walked forward over a pool's past, beside what it must beat."""
