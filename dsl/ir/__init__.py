"""Programs: the intermediate representation that tracing gives, its text, files, pictures and passes."""
