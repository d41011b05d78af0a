"""What each agent of the desk is told it is: one text file a role."""
