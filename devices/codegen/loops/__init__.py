"""Loop nests: their bodies, the transformations on them, and their statements."""
