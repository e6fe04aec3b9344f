"""The backend in array-API code, which runs on NumPy and on libraries like it."""
