"""How long reading an engine takes: python benchmarks/harvest.py PACKAGE [RUNS].

Every figure is of a Python of its own, started for it: "cold" finds an empty cache, "warm" an unchanged tree, "after an
edit" a tree with one file changed (a copy of it, so that the engine itself stays as it is), "declarations" asks for
flags and registry alone. Time and CPU time are of the call, without Python's start; memory is the highest resident set
of that Python and of the largest of its children. "parse every file" is what the harvest is measured against: Python's
own parser on every Python file of the tree, on one core. The pages are in the kernel's cache.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import ms, table

CALL = """
import json, resource, sys, time
from pathlib import Path
from launcher.knobs import declarations, harvest
read = {"harvest": harvest, "declarations": declarations}[sys.argv[1]]
wall, cpu = time.perf_counter(), time.process_time()
knobs = read(Path(sys.argv[2]), cache_dir=Path(sys.argv[3]))
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
cpu += children.ru_utime + children.ru_stime
print(json.dumps([wall, cpu, own.ru_maxrss, children.ru_maxrss, len(knobs.flags), len(knobs.env)]))
"""
PARSE = """
import ast, json, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
sources = [path.read_bytes() for path in Path(sys.argv[1]).rglob("*.py")]
wall, cpu = time.perf_counter(), time.process_time()
for source in sources:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        pass
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu, 0, 0, len(sources), 0]))
"""


def measured(script: str, *words: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", script, *words], check=True, capture_output=True, text=True)
    figures: list[float] = json.loads(done.stdout)
    return figures


def main() -> None:
    package, times = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rows: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="pdlaunch-benchmark-") as folder:
        tree, cache = Path(folder) / "sglang", Path(folder) / "cache"
        shutil.copytree(package, tree, symlinks=True)
        edited = tree / "srt" / "server_args.py"
        for number in range(times):
            shutil.rmtree(cache, ignore_errors=True)
            for name, read in (("declarations, cold", "declarations"), ("cold", "harvest")):
                shutil.rmtree(cache, ignore_errors=True)
                rows.setdefault(name, []).append(measured(CALL, read, str(tree), str(cache)))
            for name, read in (("warm", "harvest"), ("declarations, warm", "declarations")):
                rows.setdefault(name, []).append(measured(CALL, read, str(tree), str(cache)))
            with edited.open("a") as file:
                file.write(f"# edit {number}\n")
            rows.setdefault("after an edit", []).append(measured(CALL, "harvest", str(tree), str(cache)))
            rows.setdefault("parse every file", []).append(measured(PARSE, str(tree)))
    print(
        table(
            (f"{package.name}, median of {times}", "time", "CPU", "memory", "in a child"), list(map(row, rows.items()))
        )
    )


def row(item: tuple[str, list[list[float]]]) -> tuple[str, ...]:
    name, runs = item
    wall, cpu, own, child = (statistics.median(run[at] for run in runs) for at in range(4))
    return (name, ms(wall), ms(cpu), *(f"{kilobytes / 1024:.0f} MB" if kilobytes else "" for kilobytes in (own, child)))


if __name__ == "__main__":
    main()
