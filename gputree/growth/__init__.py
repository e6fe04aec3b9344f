"""Growing one tree, device-free: the queue of nodes, the rules, the draft of the tree."""
