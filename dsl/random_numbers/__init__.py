"""What `polyad.random` is made of: keys, draws, distributions, permutations."""
