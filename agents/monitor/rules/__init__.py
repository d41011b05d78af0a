"""When a position needs somebody."""
