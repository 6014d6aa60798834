"""Taylor mode: truncated series pushed through operations, for derivatives of any order."""
