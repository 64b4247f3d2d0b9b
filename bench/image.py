#!/usr/bin/env python3
"""Makes the image that the benchmarks read: six layers, about 3 GB of tar, of files of this machine.

    bench/image.py FOLDER [--scale 1.0] [--formats gzip,zstd,zstd:chunked,docker-archive]

  1  a system: /etc, programs, documentation, dpkg's tables          about 500 MB
  2  CUDA's libraries, where the machine has them, else large ones   about 1,270 MB
  3  Python in /usr/local with 50,000 files of packages               about 680 MB
  4  a tree of small text files                                       about 500 MB
  5  /opt/apache/beam: boot and licences                              about 12 MB
  6  a configuration and a whiteout

In FOLDER: gzip/, zstd/ and zstd-chunked/ (OCI layouts, tag "image") and docker-archive.tar. What is there already is kept.
--scale 0.05 makes a small one of the same shape, for trying out.
"""

import argparse
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

MB = 1_000_000
LICENCES = 300


def regular_files(folders, smallest=0, largest=64 * MB):
    """(path, size) of readable regular files below folders, each inode once, in a stable order."""
    seen = set()
    for folder in folders:
        for where, names, files in os.walk(folder):
            names.sort()
            for name in sorted(files):
                path = os.path.join(where, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                key = (status.st_dev, status.st_ino)
                if not os.path.isfile(path) or os.path.islink(path) or key in seen:
                    continue
                if smallest <= status.st_size <= largest:
                    seen.add(key)
                    yield path, status.st_size


class Layer:
    """A tar that is written once; folders come before what is in them, as builders write them."""

    def __init__(self, path):
        self.tar = tarfile.open(path, "w", format=tarfile.PAX_FORMAT)
        self.folders = set()
        self.bytes = 0
        self.count = 0

    def folder(self, path):
        if path in ("", "/") or path in self.folders:
            return
        self.folder(os.path.dirname(path))
        self.folders.add(path)
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        self.tar.addfile(entry)

    def _entry(self, path, size, mode):
        self.folder(os.path.dirname(path))
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode = size, mode
        self.bytes += size + 1024
        self.count += 1
        return entry

    def file(self, path, source, size, mode=0o644):
        try:
            with open(source, "rb") as stream:
                self.tar.addfile(self._entry(path, size, mode), stream)
        except OSError:
            pass

    def text(self, path, content, mode=0o644):
        content = content.encode() if isinstance(content, str) else content
        self.tar.addfile(self._entry(path, len(content), mode), io.BytesIO(content))

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        entry = tarfile.TarInfo(path)
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
        self.tar.addfile(entry)

    def close(self):
        self.tar.close()


def static_program():
    """What boot is: a program that is linked statically, as Go does it. Debian's /sbin/ldconfig is one."""
    with open("/sbin/ldconfig", "rb") as stream:
        return stream.read()


def system(layer, limit):
    layer.text("etc/os-release", 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
    layer.text("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
    layer.file("var/lib/dpkg/status", "/var/lib/dpkg/status", os.path.getsize("/var/lib/dpkg/status"))
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    if os.path.exists(libc):
        layer.file("usr/lib/x86_64-linux-gnu/libc.so.6", libc, os.path.getsize(libc), 0o755)
    layer.link("lib", "usr/lib")
    layer.link("bin", "usr/bin")
    sources = ["/usr/share/zoneinfo", "/usr/share/doc", "/usr/share/locale", "/usr/share/perl", "/usr/bin", "/usr/lib/x86_64-linux-gnu"]
    for path, size in regular_files(sources, largest=20 * MB):
        if layer.bytes > limit:
            return
        if "python3" not in os.path.basename(path) and not path.endswith("libc.so.6"):
            layer.file(path.lstrip("/"), path, size, 0o755 if path.startswith("/usr/bin") else 0o644)


def cuda(layer, limit):
    folders = [os.path.realpath(one) for one in ("/usr/local/cuda", "/usr/lib/x86_64-linux-gnu", "/usr/lib/llvm-14") if os.path.isdir(one)]
    for path, size in regular_files(folders, smallest=100_000, largest=700 * MB):
        if layer.bytes + size < limit * 1.05:
            layer.file("usr/local/cuda-12.4/targets/x86_64-linux/lib/" + path.lstrip("/").replace("/", "_")[-90:], path, size, 0o755)


def python(layer, limit, files):
    program = os.path.realpath(sys.executable)
    layer.file("usr/local/bin/python3.11", program, os.path.getsize(program), 0o755)
    layer.link("usr/local/bin/python3", "python3.11")
    layer.link("usr/local/bin/python", "python3")
    layer.text("usr/local/bin/pip", "#!/usr/local/bin/python3.11\nimport pip\n", 0o755)
    library, site = "usr/local/lib/python3.11", "usr/local/lib/python3.11/site-packages"
    layer.text("usr/local/include/python3.11/patchlevel.h", '#define PY_VERSION "3.11.9"\n')
    standard = os.path.dirname(os.__file__)
    sources = list(regular_files([standard], largest=200_000))
    for path, size in sources:
        if "-packages" not in path:
            layer.file(library + path[len(standard):], path, size)
    for name, version in [("apache_beam", "2.66.0"), ("pip", "24.0"), ("numpy", "1.26.4"), ("protobuf", "5.29.0")]:
        layer.text(f"{site}/{name}-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        layer.text(f"{site}/{name}-{version}.dist-info/INSTALLER", "pip\n")
    layer.text(f"{site}/apache_beam/version.py", "__version__ = '2.66.0'\n")
    layer.text(f"{site}/pip/__init__.py", "")
    layer.text(f"{library}/ensurepip/_bundled/pip-24.0-py3-none-any.whl", b"PK")
    average = max(1, (limit - layer.bytes) // max(1, files - layer.count))
    number = 0
    while layer.count < files and layer.bytes < limit:
        for path, size in sources:
            if layer.count >= files or layer.bytes >= limit:
                break
            # Of several candidates the one that keeps the average.
            if size > 4 * average:
                continue
            layer.file(f"{site}/package_{number:03}/{os.path.relpath(path, standard)}".replace("/site-packages/", "/vendored/"), path, size)
        layer.text(f"{site}/package_{number:03}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: package-{number:03}\nVersion: 1.0\n")
        number += 1


def texts(layer, limit):
    sources = list(regular_files(["/usr/share/doc", "/usr/include", "/usr/share/perl", "/usr/lib/python3"], smallest=500, largest=60_000))
    number = 0
    while layer.bytes < limit and sources:
        for path, size in sources:
            if layer.bytes >= limit:
                break
            layer.file(f"opt/sdk/lib/part_{number:03}" + path, path, size)
        number += 1


def beam(layer):
    # As large as the real one; what is behind the program is looked at by nobody.
    program, rest = static_program(), [path for path, _ in regular_files(["/usr/bin"], smallest=2 * MB)]
    for path in rest:
        with open(path, "rb") as stream:
            program += stream.read()
        if len(program) > 10 * MB:
            break
    layer.text("opt/apache/beam/boot", program[:10 * MB], 0o755)
    sdist = io.BytesIO()
    with tarfile.open(fileobj=sdist, mode="w:gz") as tar:
        entry, text = tarfile.TarInfo("apache_beam-2.66.0/PKG-INFO"), b"Metadata-Version: 2.1\nName: apache-beam\nVersion: 2.66.0\n"
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    layer.text("opt/apache/beam/tars/apache-beam.tar.gz", sdist.getvalue())
    for number in range(LICENCES):
        layer.text(f"opt/apache/beam/third_party_licenses/package_{number:03}/LICENSE", "Apache License\n" * 200)


def settings(layer):
    layer.text("etc/worker.conf", "threads = 12\n")
    layer.text("opt/sdk/lib/part_000/.wh.usr", "")


CONFIG = {
    "architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z",
    "config": {"Env": ["PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"], "Entrypoint": ["/opt/apache/beam/boot"]},
}


def digest_of(path):
    hasher = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            hasher.update(block)
    return hasher.hexdigest()


def write_blob(layout, content):
    digest = hashlib.sha256(content).hexdigest()
    (layout / "blobs/sha256" / digest).write_bytes(content)
    return {"digest": "sha256:" + digest, "size": len(content)}


def layout_of(layout, tars, compressed, media_type):
    (layout / "blobs/sha256").mkdir(parents=True)
    layers, diff_ids = [], []
    for tar, blob in zip(tars, compressed):
        digest = digest_of(blob)
        size = blob.stat().st_size
        os.rename(blob, layout / "blobs/sha256" / digest)
        layers.append({"mediaType": media_type, "digest": "sha256:" + digest, "size": size})
        diff_ids.append("sha256:" + digest_of(tar))
    config = write_blob(layout, json.dumps({**CONFIG, "rootfs": {"type": "layers", "diff_ids": diff_ids}}).encode())
    manifest = write_blob(layout, json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config}, "layers": layers}).encode())
    (layout / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [
        {"mediaType": "application/vnd.oci.image.manifest.v1+json", **manifest,
         "annotations": {"org.opencontainers.image.ref.name": "image"}}]}))


def compress(command, tars):
    outputs = [tar.with_suffix(".blob") for tar in tars]
    running = []
    for tar, output in sorted(zip(tars, outputs), key=lambda pair: -pair[0].stat().st_size):
        if len(running) == (os.cpu_count() or 1):
            running.pop(0).wait()
        running.append(subprocess.Popen(command, stdin=open(tar, "rb"), stdout=open(output, "wb")))
    if any(one.wait() for one in running):
        sys.exit("bench/image.py: " + " ".join(command) + " failed")
    return outputs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--formats", default="gzip,zstd,zstd:chunked,docker-archive")
    options = parser.parse_args()
    folder, scale = options.folder, options.scale
    formats = options.formats.split(",")
    work = folder / "tars"
    folder.mkdir(parents=True, exist_ok=True)
    tars = [work / f"{number}.tar" for number in range(1, 7)]
    if not all(tar.exists() for tar in tars):
        work.mkdir(exist_ok=True)
        makers = [lambda layer: system(layer, int(500 * MB * scale)), lambda layer: cuda(layer, int(1270 * MB * scale)),
                  lambda layer: python(layer, int(680 * MB * scale), int(54_000 * scale)),
                  lambda layer: texts(layer, int(500 * MB * scale)), beam, settings]
        for tar, make in zip(tars, makers):
            layer = Layer(tar)
            make(layer)
            layer.close()
            print(f"{tar.name}: {tar.stat().st_size / MB:.0f} MB, {layer.count} files", file=sys.stderr)
    if "gzip" in formats and not (folder / "gzip").exists():
        layout_of(folder / "gzip", tars, compress(["gzip", "-6", "-n"], tars), "application/vnd.oci.image.layer.v1.tar+gzip")
    if "zstd" in formats and not (folder / "zstd").exists():
        layout_of(folder / "zstd", tars, compress(["zstd", "-3", "-q"], tars), "application/vnd.oci.image.layer.v1.tar+zstd")
    for name, target, arguments in [
            ("zstd:chunked", folder / "zstd-chunked", ["--dest-compress-format", "zstd:chunked", f"oci:{folder}/zstd-chunked:image"]),
            ("docker-archive", folder / "docker-archive.tar", [f"docker-archive:{folder}/docker-archive.tar:bench/image:latest"])]:
        if name in formats and not target.exists():
            subprocess.run(["skopeo", "--insecure-policy", "copy", "-q", f"oci:{folder}/gzip:image", *arguments], check=True)
    if shutil.disk_usage(folder).free < 1 << 30:
        print("bench/image.py: less than 1 GiB is left on the disk", file=sys.stderr)


if __name__ == "__main__":
    main()
