"""`make bench`: every benchmark as a ratio against a peer in the same run."""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

NAMES = ("calls", "overhead", "derivatives", "large", "jit", "firsts", "programs", "own", "imports", "ranks")


def modules():
    """The benchmarks whose peers are installed."""
    for name in NAMES:
        try:
            yield importlib.import_module(name)
        except ImportError as error:
            print(f"{name}: left out, {error}")


def main():
    print(f"{'work':40s} {'µs':>10s} {'peer':>14s} {'µs':>10s} {'ratio':>7s} {'reach':>7s}")
    missed = 0
    for module in modules():
        for work, peer, (ours, theirs), reach in module.rows():
            verdict = ""
            if reach is not None:
                verdict = "ok" if ours / theirs <= reach else "MISSED"
                missed += verdict == "MISSED"
            target = f"≤ {reach:.2g}" if reach is not None else ""
            print(f"{work:40s} {ours:10.2f} {peer:>14s} {theirs:10.2f} {ours / theirs:7.2f} {target:>7s} {verdict}")
    return missed


if __name__ == "__main__":
    sys.exit(main() > 0)
