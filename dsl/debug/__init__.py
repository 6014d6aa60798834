"""Debugging modes: NaNs at their origin, derivatives that a convention decided."""
