"""What a person asks for, as an action that can be built, judged and signed."""
