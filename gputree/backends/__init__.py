"""Where the numbers are crunched: one contract, several places to keep it."""
