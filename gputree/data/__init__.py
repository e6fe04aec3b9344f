"""From a user's table and target to codes, cuts and integer channels."""
