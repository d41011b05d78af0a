"""`zuno telegram`: what is asked in a chat, answered from facts."""
