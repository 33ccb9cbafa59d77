"""WHAT is wanted: the cluster file as frozen, typed models."""
