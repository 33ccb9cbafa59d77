"""MEASURE: how fast the cluster is. Gauges are sent as jobs; what they tell becomes tables, charts and JSON."""
