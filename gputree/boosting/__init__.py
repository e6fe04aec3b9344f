"""Models that add trees up, each fitted to the slope of a loss where the others left it."""
