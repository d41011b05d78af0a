"""What venues tell everybody: candles, books, funding, open interest. No key comes here."""
