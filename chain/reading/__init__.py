"""Reading the chain whole: many values of one block, and logs over any number of blocks."""
