"""What each agent is told it is: one text file a role."""
