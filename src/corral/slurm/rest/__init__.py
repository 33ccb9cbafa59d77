"""Slurm's REST service, spoken to as one user, so that Slurm's own permissions apply."""
