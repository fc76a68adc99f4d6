"""What the tests start takes signals as at a terminal, also under nohup and in background jobs, which ignore some.

Engines are forked from this process: OpenMP keeps to one thread in it, because threads that it had would be missing in
the fork, which would wait for them for ever.
"""

from __future__ import annotations

import os
import signal

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)
