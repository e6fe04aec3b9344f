"""The finished tree: flat arrays, walks, text and files."""
