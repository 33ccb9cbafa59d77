"""Programs that run in jobs and measure: `python3 -m corral.gauges.NAME`. They tell what they found line by line."""
