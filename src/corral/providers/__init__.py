"""WHERE: machines, whoever owns them. From `Machine` on, every machine is treated alike."""
