"""What is asked of a supervised launch beyond starting and stopping it."""

from __future__ import annotations

from pd_launch.schemas.core.record import dataclass

HEALTH_SECONDS = 10.0
LOG_BYTES = 64 * 1024 * 1024
LOG_FILES = 5


@dataclass(frozen=True)
class Watch:
    """Options of the keeper. Times are seconds.

    ``health`` is how often engines that were ready are asked again; 0: never. ``ready_timeout`` is how long all may
    take to get ready; None: as long as they want. ``restarts`` is how often the whole group is started anew after a
    failure, ``log_dir`` a folder for a file of each rank, ``notify`` whether systemd is told.
    """

    health: float = HEALTH_SECONDS
    ready_timeout: float | None = None
    restarts: int = 0
    log_dir: str | None = None
    log_bytes: int = LOG_BYTES
    log_files: int = LOG_FILES
    notify: bool = False
