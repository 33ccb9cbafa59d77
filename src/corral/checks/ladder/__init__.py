"""`corral check`: what a cluster must be able to do, rung by rung, from its daemons up to a training."""
