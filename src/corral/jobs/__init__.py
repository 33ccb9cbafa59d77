"""RUN: jobs and sweeps, from what a person asks for to what Slurm is sent, and back."""
