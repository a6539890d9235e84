"""``python -m ptxgen``: the command line."""

from __future__ import annotations

from ptxgen.cli import main

raise SystemExit(main())
