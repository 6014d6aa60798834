"""Derivative rules: made from cards, found by type, and how their products use memory."""
