"""The desk without its screen: intents go in, events with frozen views come out."""
