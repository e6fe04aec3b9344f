"""What a fit has before its first tree: a table that is read, cut and coded once."""
