"""Everything that trades: orders, venues that take them, and their journal."""
