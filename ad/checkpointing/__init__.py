"""Checkpoints: derivatives that compute the inside of a function again instead of keeping it."""
