"""The fuzzers: ``python tests/fuzz --count 20000`` mutates inputs, with ``--grammar`` it makes them."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from grammar import generated
from oracle import judge
from seeds import HOSTS, TARGETS, case


def _made(number: int) -> tuple[dict[str, str], str | None, dict[str, object] | None]:
    return generated(number), TARGETS[number % len(TARGETS)], HOSTS[number % len(HOSTS)]


def main() -> int:
    """Fuzz, print what did not hold, and return 1 if anything did not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a folder for the inputs that failed")
    parser.add_argument("--grammar", action="store_true", help="inputs from the grammar, not mutated ones")
    parser.add_argument("--fix-every", type=int, default=4, help="of how many inputs one is fixed, too")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    seen: Counter[str] = Counter()
    slowest, begun, worst = 0.0, time.process_time(), 0
    for number in range(options.start, options.start + options.count):
        files, target, host = _made(number) if options.grammar else case(number)
        started = time.process_time()
        problems = judge(files, target, host, fix=number % options.fix_every == 0)
        took = time.process_time() - started
        slowest, worst = max((slowest, worst), (took, number))
        for problem in problems:
            key = f"{problem.what} | {problem.detail.strip().splitlines()[-1] if problem.detail.strip() else ''}"[:160]
            seen[key] += 1
            if seen[key] == 1:
                print(f"input {number}: {problem.what}\n{problem.detail}", flush=True)
                if options.out:
                    options.out.mkdir(parents=True, exist_ok=True)
                    (options.out / f"{number}.json").write_text(
                        json.dumps({"files": files, "target": target, "host": host})
                    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    total = time.process_time() - begun
    print(
        f"{options.count} inputs, {total:.0f} s of processor time, slowest {slowest:.2f} s (input {worst}), "
        f"peak {peak:.0f} MiB"
    )
    for key, count in seen.most_common():
        print(f"{count:6} {key}")
    return int(bool(seen))


if __name__ == "__main__":
    sys.exit(main())
