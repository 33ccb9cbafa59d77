"""`python -m corral`."""

from corral.cli.main import main

main()
