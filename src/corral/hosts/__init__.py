"""REACH: one connection to each machine. The only package that starts processes or speaks SSH."""
