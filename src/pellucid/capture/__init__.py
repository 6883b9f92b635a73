"""A live recording: the session, what it hears, and the launcher around a whole program."""
