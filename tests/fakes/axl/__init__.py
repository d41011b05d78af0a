"""An AXL node's double: its API and its habits, in a process of its own."""
