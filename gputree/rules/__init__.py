"""Rules read off a tree, made shorter and fewer, and a classifier that answers with them."""
