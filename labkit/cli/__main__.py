"""`python -m labkit.cli`: the same as `labkit`."""

import sys

from labkit.cli import main

sys.exit(main())
