"""Start several ranks of one program, listen to them until they have ended, and say which of them has not come to its end."""
