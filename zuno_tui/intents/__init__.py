"""What can be asked, whichever way it is asked, and how words become it."""
