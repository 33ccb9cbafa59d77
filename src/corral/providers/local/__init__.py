"""Machines on this very computer: containers that boot a real system, on a private network."""

from corral.providers.local.machines import LocalMachines

__all__ = ["LocalMachines"]
