"""Orders that outlive the screen: exact calls that an owner signed for another key to make."""
