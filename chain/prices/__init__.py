"""What tokens are worth, each price with its source and age, or the reason there is none."""
