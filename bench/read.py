#!/usr/bin/env python3
"""How fast images are read, held against what physics asks, in the same run.

    bench/read.py [--build DIR] [--image FOLDER] [--scale 1.0] [--rounds 5] [--peers]

Makes the image of bench/image.py in FOLDER (default: build/bench) and takes, in turns, so that a busy machine is busy for
all, the medians of:

  gzip, zstd       verify of every layer of an OCI layout, nothing known before, against limit on the same layout
  chunked          verify of a zstd:chunked layout: by its tables of contents, and with --assurance full against limit
  archive          verify of a docker-archive (plain tars, hashed to their diff ids) against SHA-256 over the file
  contract         --depth contract, and boot alone: the share of the bytes that was read
  again            verify of what was verified before, from process start to exit
  peers            umoci unpack; skopeo copy and tar t of every layer (with --peers: they take minutes)

The programs are built by: cmake --preset release -DIMGFORGE_BENCH=ON && cmake --build --preset release
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(command, cwd=None):
    """Seconds, peak memory in MB, and stdout."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=subprocess.PIPE, cwd=cwd)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            sys.exit(f"bench/read.py: {command} ended with {process.returncode}: {errors.decode(errors='replace')[:500]}")
        output.seek(0)
        return seconds, usage.ru_maxrss / 1024, output.read()


class Job:
    def __init__(self, name, command, against=None):
        self.name, self.command, self.against = name, command, against
        self.times, self.peers, self.memory = [], [], 0

    def turn(self):
        seconds, memory, self.output = run(self.command)
        self.times.append(seconds)
        self.memory = max(self.memory, memory)
        if self.against:
            self.peers.append(run(self.against)[0])

    def line(self):
        text = f"{self.name:<28} {statistics.median(self.times):8.3f} s  {self.memory:6.0f} MB"
        if self.peers:
            ratio = statistics.median(one / other for one, other in zip(self.times, self.peers))
            text += f"   {statistics.median(self.peers):8.3f} s  {ratio:5.2f} x"
        return text


def cost(output):
    return json.loads(output)["subjects"][0]["cost"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--image", type=pathlib.Path, default=ROOT / "build" / "bench")
    parser.add_argument("--scale", default="1.0")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    imgforge, limit = options.build / "cmd/imgforge/imgforge", options.build / "bench/limit"
    for program in (imgforge, limit):
        if not program.exists():
            sys.exit(f"bench/read.py: {program} is not there: cmake --preset release -DIMGFORGE_BENCH=ON, and build")
    subprocess.run([sys.executable, ROOT / "bench/image.py", options.image, "--scale", options.scale], check=True)

    def verify(source, *more):
        return [imgforge, "verify", "--format", "json", *more, source]

    layout = {name: f"oci:{options.image / name}:image" for name in ("gzip", "zstd", "zstd-chunked")}
    archive = options.image / "docker-archive.tar"
    jobs = [
        Job("gzip, all layers", verify(layout["gzip"], "--no-cache"), [limit, options.image / "gzip"]),
        Job("zstd, all layers", verify(layout["zstd"], "--no-cache"), [limit, options.image / "zstd"]),
        Job("zstd:chunked, full", verify(layout["zstd-chunked"], "--assurance", "full"), [limit, options.image / "zstd-chunked"]),
        Job("docker-archive", verify(f"docker-archive:{archive}", "--no-cache"), [limit, "--file", archive]),
        Job("zstd:chunked, by tables", verify(layout["zstd-chunked"], "--no-cache")),
        Job("contract, gzip", verify(layout["gzip"], "--no-cache", "--depth", "contract")),
        Job("boot alone, gzip", verify(layout["gzip"], "--no-cache", "--depth", "contract", "--select", "beam/boot-missing")),
        Job("limit -j 1, gzip", [limit, "-j", "1", options.image / "gzip"]),
    ]
    for _ in range(options.rounds):
        for job in jobs:
            job.turn()
    print(f"{'job':<28} {'imgforge':>10}  {'memory':>9}   {'limit':>10}  ratio")
    for job in jobs:
        print(job.line())
    for job in jobs:
        if "limit" not in job.name:
            read = cost(job.output)
            share = 100 * read["bytes_read"] / max(1, read["bytes_total"])
            print(f"{job.name:<28} read {share:6.2f} % of the bytes, {read['layers_read']} of {read['layers_total']} layers")

    with tempfile.TemporaryDirectory() as cache:
        for name, source in [("gzip", layout["gzip"]), ("docker-archive", f"docker-archive:{archive}")]:
            command = verify(source, "--cache", cache)
            run(command)
            again = [run(command) for _ in range(options.rounds + 2)]
            read = cost(again[-1][2])
            size = sum(path.stat().st_size for path in pathlib.Path(cache).rglob("*") if path.is_file())
            print(f"{'again, ' + name:<28} {statistics.median(one[0] for one in again) * 1000:8.1f} ms, {again[-1][1]:.0f} MB, "
                  f"{read['layers_read']} layers read, {read.get('layers_cached', 0)} known; the cache holds {size / 1e6:.2f} MB")

    if options.peers:
        for name, command in [
                ("umoci unpack", ["umoci", "unpack", "--image", f"{options.image / 'gzip'}:image"]),
                ("skopeo copy, tar t", ["sh", "-c", 'skopeo --insecure-policy copy -q "$1" "dir:$2" && for layer in "$2"/*; do '
                                        'tar tf "$layer" >/dev/null 2>&1 || true; done', "sh", layout["gzip"]])]:
            scratch = tempfile.mkdtemp(dir=options.image)
            seconds = run([*command, os.path.join(scratch, "bundle")])[0]
            shutil.rmtree(scratch, ignore_errors=True)
            ours = statistics.median(jobs[0].times)
            print(f"{name:<28} {seconds:8.1f} s: {seconds / ours:.1f} x of imgforge's {ours:.2f} s")


if __name__ == "__main__":
    main()
