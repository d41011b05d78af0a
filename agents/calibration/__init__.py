"""What the card's probabilities are worth, scored on hours that really were."""
