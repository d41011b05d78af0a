"""What closed trades have taught: post-mortems in a file of lines and in an index to search."""
