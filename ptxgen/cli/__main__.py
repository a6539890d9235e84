"""``python -m ptxgen.cli``."""

import sys

from ptxgen.cli import main

sys.exit(main())
