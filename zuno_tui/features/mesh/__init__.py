"""The mesh: agents in processes and on machines of their own."""
