"""Tools for the user's own machine: times, self-tests, and tables to try things on."""
