"""`python -m zuno_tui` is `zuno`."""

import sys

from zuno_tui.cli import main

sys.exit(main())
