"""What the paper claims, what it printed, and the rules by which records decide."""
