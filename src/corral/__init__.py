"""Corral: loose GPU machines become one Slurm research cluster."""

__version__ = "0.1.0"
