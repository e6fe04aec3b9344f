"""Models that add trees up, each fitted to the gradient of a loss where the others left it."""
