"""Prepared /proc, /sys and /dev trees."""

from __future__ import annotations

from pathlib import Path

GIB = 1 << 30
MEMINFO = """\
MemTotal:       528280776 kB
MemFree:        401000000 kB
MemAvailable:   419430400 kB
HugePages_Total:    1024
HugePages_Free:     1000
HugePages_Rsvd:        0
Hugepagesize:       2048 kB
"""
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1FA4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:0016 0100007F:A0F2 01 00000000:00000000 00:00000000 00000000     0        0 2 1
"""
TCP6 = """\
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:8CA0 00000000000000000000000000000000:0000 0A
"""
ROUTE = "Iface\tDestination\tGateway\neth9\t00000000\t0101A8C0\neth0\t0001A8C0\t00000000\n"
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max locked memory         {memlock}               67108864             bytes
Max file locks            unlimited            unlimited            locks
"""
FIRST = {"pid": "pid:[4026531836]", "ipc": "ipc:[4026531839]"}
OWN = {"pid": "pid:[4026532999]", "ipc": "ipc:[4026532998]"}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def namespaces(root: Path, names: dict[str, str]) -> None:
    folder = root / "proc/self/ns"
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in names.items():
        (folder / name).symlink_to(target)


def process(root: Path, pid: int, opened: tuple[str, ...] = (), maps: str = "", comm: str = "python") -> Path:
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    for number, target in enumerate(opened):
        (folder / "fd" / str(number)).symlink_to(target)
    (folder / "maps").write_text(maps)
    (folder / "comm").write_text(comm + "\n")
    return folder


def segment(root: Path, name: str, size: int, age: float = 3600) -> None:
    import os
    import time

    path = root / "dev/shm" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    then = time.time() - age
    os.utime(path, (then, then))


def ascend_node(root: Path, devices: int = 16) -> None:
    """A whole A3 node."""
    write(
        root,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/limits": LIMITS.format(memlock="65536"),
            "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-3,8,10-11\n",
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": f"{100 * GIB}\n",
            "sys/fs/cgroup/memory.current": f"{3 * GIB}\n",
            "proc/net/tcp": TCP,
            "proc/net/tcp6": TCP6,
            "proc/net/route": ROUTE,
            "proc/sys/kernel/osrelease": "5.10.0-216.oe2203sp4.aarch64\n",
            "usr/local/Ascend/driver/version.info": "Version=24.1.rc3\nascendhal_version=7.35.23\n",
            "usr/local/Ascend/ascend-toolkit/latest/version.cfg": "# c\nruntime_running_version=[7.7.0.1.238:8.5.1]\n",
            "sys/devices/system/node/node0/cpulist": "0-39\n",
            "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:  1000 kB\nNode 0 MemFree:  500 kB\n",
            "sys/devices/system/node/node1/cpulist": "40-79\n",
            "sys/devices/system/node/node10/cpulist": "80-99\n",
            **{f"dev/davinci{number}": "" for number in range(devices)},
            "dev/davinci_manager": "",
            "dev/devmm_svm": "",
            "dev/hisi_hdc": "",
            "dev/davinci_something": "",
        },
    )
    namespaces(root, OWN)
    (root / "dev/shm").mkdir(parents=True, exist_ok=True)
