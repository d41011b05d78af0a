"""What a plan is made of, whatever protocol carries it out: requests, facts, amounts, records."""
