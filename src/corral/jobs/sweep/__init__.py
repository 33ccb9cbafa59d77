"""A sweep: a declared set of trials, what became of each, and what they measured."""
