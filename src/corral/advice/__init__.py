"""ADVISE: when several nodes pay. Pure functions from measured or given numbers to predictions and plain words."""
