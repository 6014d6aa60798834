"""From C text to functions in this process: the compiler, its cache on disk, dynamic loading."""
