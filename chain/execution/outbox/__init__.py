"""The journal of what is approved, signed and sent, and how it is sent."""
