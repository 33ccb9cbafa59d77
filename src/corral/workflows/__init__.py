"""What the commands do, without a terminal: the CLI and the web page call these."""
