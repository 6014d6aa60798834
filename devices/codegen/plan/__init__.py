"""Plans: which values of a program get memory, and which share a pass."""
