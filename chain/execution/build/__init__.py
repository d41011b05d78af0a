"""From a request to unsigned transactions, every byte fixed."""
