"""The operations, one family a file; each is a card and the rules that are its own."""
