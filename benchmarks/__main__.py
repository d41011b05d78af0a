"""`make bench`: run every benchmark and print what it measured."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import benchmarks


def main() -> None:
    for module in iter_modules(benchmarks.__path__):
        if module.name == "__main__":
            continue
        benchmark = import_module(f"benchmarks.{module.name}")
        if not hasattr(benchmark, "run"):
            continue
        print(f"\n{module.name.replace('_', ' ')}: {benchmark.__doc__}")
        for line in benchmark.run():
            print(f"  {line}")


main()
