"""Other ways to ask for derivatives: a tape as a block, variables with `backward`, explicit graphs, programs ahead of time."""
