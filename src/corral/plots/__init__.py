"""SHOW: charts as terminal text, as SVG and as one HTML page, with the standard library alone."""
