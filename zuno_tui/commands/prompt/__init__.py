"""What is typed at the prompt: understood, and completed."""
