"""The layers of the language: tracing and batching, and what users call to get them."""
