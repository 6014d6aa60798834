"""The stand-in for autograd is no test, though a module of it is called test_util."""

collect_ignore = ["autograd_names"]
