"""Sparse derivatives: detected patterns, colourings, compressed Jacobians and Hessians."""
