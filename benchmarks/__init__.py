"""Speed, as ratios against a baseline named and measured in the same run."""
