"""Messages from one rank to another, with derivatives, blocking or not."""
