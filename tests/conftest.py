"""What the tests start takes signals as at a terminal, also under nohup and in background jobs, which ignore some."""

from __future__ import annotations

import signal

for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)
