"""TALK: what Slurm says, as our own models."""
