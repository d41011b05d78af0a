"""Plans judged later, by what really happened to each of their options."""
