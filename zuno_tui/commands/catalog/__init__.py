"""What is made from all commands at once: sentences, manual, completion, running one."""
