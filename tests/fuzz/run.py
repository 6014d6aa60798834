"""`make fuzz SECONDS=… SEED=…`: compiled against eager execution at random, by each compiler that is there.

The product of operations, sizes, dtypes, layouts and modes, and random programs. Each finding is printed as a small program;
then the status is not 0.
"""

import argparse
import contextlib
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

spec = importlib.util.spec_from_file_location("polyad_fuzz_package", Path(__file__).with_name("package.py"))
package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
package.install()

from polyad_fuzz import bounds, cases, products, randoms, running, texts  # noqa: E402
from polyad_fuzz.compare import Carried, disagreement, quiet  # noqa: E402
from polyad_fuzz.layouts import LAYOUTS  # noqa: E402

import polyad as pa  # noqa: E402
from polyad.devices import compilers  # noqa: E402
from polyad.devices.codegen.toolchain import library  # noqa: E402
from polyad.devices.codegen.toolchain.cache import Cache  # noqa: E402

TOGETHER = 12  # cases in one program
LONGEST = 12  # steps of a random program


def compiler_commands():
    """What `$CC` is set to in turn: gcc, and clang as the wheel `ziglang` brings it, where they are."""
    found = ["gcc"]
    if importlib.util.find_spec("ziglang") is not None:
        found.append(f"{sys.executable} -m ziglang cc")
    return found


@contextlib.contextmanager
def compiler(command):
    before = os.environ.get("CC")
    os.environ["CC"] = command
    compilers.find_compiler.cache_clear()
    try:
        yield
    finally:
        os.environ.pop("CC") if before is None else os.environ.update(CC=before)
        compilers.find_compiler.cache_clear()


class Net:
    """One search. seed: of all choices; commands: of compilers; note: path of a file that says what is being done."""

    def __init__(self, seed, commands, note):
        self.seed, self.commands, self.note = seed, commands, note
        self.counts, self.seen, self.names = Counter(), Counter(), list(cases.subjects().items())

    def round(self, number):
        """One batch of cases, or one random program, by each compiler, at times with the bounds low."""
        draw = random.Random(f"{self.seed} {number}")
        kind = draw.choices(["cards", "products", *randoms.KINDS], [10, 2, 3, 3, 1])[0]
        with bounds.low() if draw.random() < 0.3 else contextlib.nullcontext():
            if kind in ("cards", "products"):
                made = getattr(self, kind)(draw)
                self.note.write_text("\n".join(str(call.case) for call in made))
                for command in self.commands:
                    with compiler(command):
                        for finding in running.run(made, reference=command == self.commands[0]):
                            self.found(finding, command)
                self.counts[kind] += len(made)
            else:
                self.program(kind, draw.randrange(10**6))

    def cards(self, draw):
        made = []
        while len(made) < TOGETHER:
            name, count = draw.choice(self.names)
            size = draw.choice((0, *cases.SIZES)) if draw.random() < 0.9 else 1
            choice = [draw.choice(levels) for levels in (cases.DTYPES, list(LAYOUTS), cases.MODES)]
            case = cases.Case(name, draw.randrange(count), size, *choice, seed=draw.randrange(1000))
            try:
                with quiet():
                    made.append(cases.build(case))
            except cases.Refused:
                self.counts["refused"] += 1
        return made

    def products(self, draw):
        lengths = (1, 1, 2, 3, 8, 17, 33, 255, 300)
        made = []
        for _ in range(TOGETHER):
            three = [draw.choice(lengths) for _ in range(3)]
            levels = (products.DTYPES, list(LAYOUTS), cases.MODES, range(1000), [(), (), (2,)])
            made.append(products.build(draw.choice(list(products.FORMS)), *three, *map(draw.choice, levels)))
        return made

    def found(self, finding, command):
        """Count a finding, and print it where it is the first of its kind."""
        if isinstance(finding.case, cases.Case) and not finding.case.name.startswith("product "):
            finding = texts.shrunk(finding, pa.jit)
            text = texts.text_of(finding)
        else:
            text = f"# {finding}\n"
        key = (finding.case.name, finding.kind)
        self.seen[key] += 1
        if self.seen[key] == 1:
            print(f"{'-' * 60} {command}\n{text}", flush=True)

    def program(self, kind, seed):
        """A random program, in a first and a second call."""
        self.note.write_text(f"{kind}({seed}, {LONGEST})")
        for command in self.commands:
            with compiler(command):
                wrong = program_wrong(kind, seed, LONGEST)
                if wrong:
                    steps = next((n for n in range(1, LONGEST) if program_wrong(kind, seed, n)), LONGEST)
                    wrong = program_wrong(kind, seed, steps) or wrong
                    self.seen[kind, seed] += 1
                    print(f"{'-' * 60} {command}\n# {kind}({seed}, {steps}): {wrong}", flush=True)
        self.counts[kind] += 1

    @property
    def status(self):
        return int(any(not isinstance(key, str) for key in self.seen))


def program_wrong(kind, seed, steps):
    """What is wrong with a random program, or None."""
    try:
        with quiet():
            f, xs = randoms.KINDS[kind](seed, steps)
            wanted = pa.tree.leaves(f(*xs))
    except Exception:  # refused by eager execution
        return None
    try:
        with quiet():
            g = pa.jit(f)
            found = [pa.tree.leaves(g(*xs)) for _ in range(2)]
    except Exception as error:
        return f"compiled execution raises {type(error).__name__}: {error}"
    carried = Carried(lambda *xs: pa.tree.leaves(f(*xs)), xs)
    return next((wrong for ys in found if (wrong := disagreement(ys, wanted, carried))), None)


def search(arguments, note):
    """The worker."""
    net = Net(arguments.seed, arguments.commands.split(";"), note)
    library._state["cache"] = Cache(Path(arguments.cache))
    end, number = time.time() + arguments.seconds, arguments.start
    while time.time() < end:
        Path(arguments.cache, "round").write_text(str(number))
        net.round(number)
        number += 1
    print(f"rounds {arguments.start} to {number - 1}: {dict(net.counts)}")
    for key, count in sorted(net.seen.items(), key=str):
        print(f"  {count:5d} × {key if isinstance(key, str) else ': '.join(map(str, key))}")
    return net.status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--start", type=int, default=0, help="the round to begin with")
    parser.add_argument("--commands", default=";".join(compiler_commands()), help="of compilers, parted by semicolons")
    parser.add_argument("--cache", default=None, help="for the worker: its directory")
    arguments = parser.parse_args()
    if arguments.cache:
        return search(arguments, Path(arguments.cache, "note"))
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    print(f"seed {seed}, {arguments.seconds:.0f} s, compilers: {arguments.commands}", flush=True)
    return guarded(arguments, seed)


def guarded(arguments, seed):
    """Run workers until the time is over: one that crashes is a finding, and another goes on after it."""
    end, start, status = time.time() + arguments.seconds, arguments.start, 0
    with tempfile.TemporaryDirectory(prefix="polyad-fuzz-") as folder:
        while time.time() < end:
            command = [sys.executable, "-P", __file__, "--seed", str(seed), "--seconds", str(max(end - time.time(), 1)),
                       "--start", str(start), "--commands", arguments.commands, "--cache", folder]  # fmt: skip
            code = subprocess.run(command).returncode
            status = status or int(code != 0)
            if code in (0, 1):
                break
            start = int(Path(folder, "round").read_text()) + 1
            doing = Path(folder, "note").read_text()
            print(f"{'-' * 60}\n# the process ended with {code} in round {start - 1}:\n{doing}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
