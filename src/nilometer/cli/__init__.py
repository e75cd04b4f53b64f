"""The command line: turns argv into calls of the engine, and answers into text or JSON. It has no logic."""
