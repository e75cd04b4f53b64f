"""argv -> engine calls, text or JSON. No logic of its own."""
