"""Tools beside derivatives: checks against finite differences, hooks on cotangents, pictures of the tape."""
