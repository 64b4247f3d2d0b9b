"""The loader's answers for files of an image are those of ldd on the machine that the files come from."""
import hashlib
import json
import os
import re
import subprocess
import tarfile

import pytest

IMGFORGE = os.environ.get("IMGFORGE", "imgforge")
LEAST = 1000

pytestmark = pytest.mark.skipif(not os.path.exists("/etc/ld.so.cache") or os.uname().machine != "x86_64", reason="needs a glibc machine")


def is_elf(path):
    try:
        with open(path, "rb") as file:
            start = file.read(20)
    except OSError:
        return False
    return start[:5] == b"\x7fELF\x02" and start[16] in (2, 3) and start[18] == 62


def write_image(folder, layer):
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(content):
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"digest": "sha256:" + digest, "size": len(content)}

    hasher = hashlib.sha256()
    with open(layer, "rb") as file:
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    digest = hasher.hexdigest()
    size = layer.stat().st_size
    layer.rename(blobs / digest)
    config = {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]}}
    manifest = {
        "schemaVersion": 2,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **put(json.dumps(config).encode())},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": "sha256:" + digest, "size": size}],
    }
    index = {"schemaVersion": 2, "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", **put(json.dumps(manifest).encode())}]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def ldd(path):
    """Names and where they are found; None where ldd has no answer."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
    if "not a dynamic executable" in done.stderr + done.stdout or "statically linked" in done.stdout:
        return {}
    if done.returncode != 0:
        return None
    found = {}
    for line in done.stdout.splitlines():
        if match := re.match(r"\s+(\S+) => (not found|\S+)", line):
            found[match[1]] = None if match[2] == "not found" else os.path.realpath(match[2])
        elif match := re.match(r"\s+(/\S+) \(0x", line):
            found[os.path.basename(match[1])] = os.path.realpath(match[1])
    return found


def test_a_thousand_files_load_what_ldd_says(tmp_path):
    files = []
    for tree in ("/usr/bin", "/usr/sbin", "/usr/lib/x86_64-linux-gnu"):
        for folder, _, names in os.walk(tree):
            files += [os.path.join(folder, name) for name in sorted(names)]
    files = [path for path in files if not os.path.islink(path) and os.path.isfile(path) and is_elf(path)][:1500]
    if len(files) < LEAST:
        pytest.skip(f"this machine has only {len(files)} ELF files")
    expected = {path: ldd(path) for path in files}
    # What they load comes from wherever the machine has it.
    more = {target for answer in expected.values() if answer for target in answer.values() if target}
    layer = tmp_path / "layer.tar"
    added = set()
    with tarfile.open(layer, "w") as tar:
        for path in ["/bin", "/lib", "/lib64", "/sbin", "/etc/ld.so.cache", *files, *sorted(more)]:
            if path not in added and (os.path.islink(path) or os.path.isfile(path)):
                added.add(path)
                tar.add(path, recursive=False)
        for folder in ["/etc/alternatives", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", *sorted({os.path.dirname(path) for path in more})]:
            for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
                path = os.path.join(folder, name)
                if os.path.islink(path) and path not in added:
                    added.add(path)
                    tar.add(path, recursive=False)
    image = tmp_path / "image"
    image.mkdir()
    write_image(image, layer)
    differences = []
    compared = 0
    for start in range(0, len(files), 100):
        arguments = [word for path in files[start : start + 100] for word in ("--libraries", path)]
        page = subprocess.run([IMGFORGE, "inspect", f"oci:{image}", *arguments], capture_output=True, text=True, check=True,
                              env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}).stdout
        answers = {}
        for line in page.splitlines():
            if not line.startswith(" "):
                current = answers.setdefault(line.removesuffix(":"), {})
            elif match := re.match(r"  (\S+) => (not found|\S+)", line):
                current[match[1]] = None if match[2] == "not found" else os.path.realpath(match[2])
        for path in files[start : start + 100]:
            # A library that somebody made not to be run by itself has no answer from ldd.
            if expected[path] is None:
                continue
            compared += 1
            ours = answers[path]
            theirs = dict(expected[path])
            # ldd names the kernel's page and the interpreter, which no file needs, or needs by another name.
            for answer in (ours, theirs):
                for name in [name for name in answer if name.startswith(("linux-vdso", "ld-linux"))]:
                    del answer[name]
            # What is needed by its path, ldd shows as that path alone.
            ours = {os.path.basename(name): target for name, target in ours.items()}
            if ours != theirs:
                differences.append((path, {k: (ours.get(k, "-"), theirs.get(k, "-")) for k in ours.keys() | theirs.keys() if ours.get(k, "-") != theirs.get(k, "-")}))
    assert compared >= LEAST
    assert not differences, json.dumps(differences, indent=1)
