"""The routes, one resource a file. Each has a function `add(router, desk)`."""
