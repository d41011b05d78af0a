"""What is neither Ethereum nor opinion: home, store, strict JSON, clean text, numbers as text."""
