"""C of operations that are no plain loop over elements: products, sorts, scans, solves."""
