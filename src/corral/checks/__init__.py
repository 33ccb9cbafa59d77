"""PROVE: what is wrong with machines and cluster, as findings that say how to mend it."""
