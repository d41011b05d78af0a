"""What a person asks for, as an order that can be built, judged and signed."""
