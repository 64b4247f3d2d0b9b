"""Python environments that real tools make, put into images as they lie on the disk, without a builder.

An image is an OCI layout with plain tar layers; interpreters are the machine's own, copied to where others lie.
"""

import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import zipfile

import bed

MINOR = "3.11"
SYSTEM = pathlib.Path(f"/usr/bin/python{MINOR}")
LIBRARY = pathlib.Path(f"/usr/lib/python{MINOR}")
LINK = "link to "  # a member that is a symbolic link, with its target behind


def layer(path, members):
    """Writes a tar of `members` (path in the image → path on the disk, bytes, or LINK + target); answers its digest."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, what in members.items():
            name = str(name).lstrip("/")
            if isinstance(what, pathlib.Path):
                archive.add(what, name, filter=lambda one: None if "__pycache__" in one.name else one)
                continue
            member = tarfile.TarInfo(name)
            if isinstance(what, str):
                member.type, member.linkname = tarfile.SYMTYPE, what.removeprefix(LINK)
                archive.addfile(member)
            else:
                member.size = len(what)
                archive.addfile(member, io.BytesIO(what))
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def layout(folder, layers, env, entrypoint=(), workdir="/"):
    """Writes an OCI layout; `layers` are lists of members for layer(), or tars that are there already."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(content):
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"digest": f"sha256:{digest}", "size": len(content)}

    descriptors = []
    for number, members in enumerate(layers):
        digest = layer(folder / f"{number}.tar", members)
        target = blobs / digest.removeprefix("sha256:")
        (folder / f"{number}.tar").rename(target)
        descriptors.append({"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": digest,
                            "size": target.stat().st_size})
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    config = {"architecture": machine, "os": "linux",
              "config": {"Env": [f"{name}={value}" for name, value in env.items()], "WorkingDir": workdir,
                         "Entrypoint": list(entrypoint)},
              "rootfs": {"type": "layers", "diff_ids": [one["digest"] for one in descriptors]}}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **put(json.dumps(config).encode())},
                "layers": descriptors}
    described = {"mediaType": "application/vnd.oci.image.manifest.v1+json", **put(json.dumps(manifest).encode())}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [described]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return f"oci:{folder}"


def debian_python():
    """Members: this machine's Debian with its Python, and the modules of it that tell something."""
    members = {"etc/os-release": pathlib.Path("/etc/os-release").resolve(),
               "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n", "etc/group": b"root:x:0:\n",
               "var/lib/dpkg/status": pathlib.Path("/var/lib/dpkg/status"),
               f"usr/bin/python{MINOR}": SYSTEM, "usr/bin/python3": f"{LINK}python{MINOR}",
               "usr/share/python-wheels": pathlib.Path("/usr/share/python-wheels")}
    for module in ("os.py", "venv", "ensurepip"):
        if (LIBRARY / module).exists():
            members[f"usr/lib/python{MINOR}/{module}"] = LIBRARY / module
    return members


def own_python(prefix):
    """Copies this machine's Python to a prefix of its own, where it runs; its packages are those of upstream's scheme."""
    (prefix / "bin").mkdir(parents=True)
    shutil.copy2(SYSTEM, prefix / "bin" / f"python{MINOR}")
    for link in ("python3", "python"):
        (prefix / "bin" / link).symlink_to(f"python{MINOR}")
    library = prefix / "lib" / f"python{MINOR}"
    shutil.copytree(LIBRARY, library, symlinks=True,
                    ignore=shutil.ignore_patterns("__pycache__", "test", "config-*", "EXTERNALLY-MANAGED", "dist-packages"))
    (library / "site-packages").mkdir(exist_ok=True)
    # Debian's site module, which is frozen into the program, looks into dist-packages; upstream's into site-packages.
    customize = library / "sitecustomize.py"
    customize.unlink(missing_ok=True)
    customize.write_text("import site, sys\nif sys.prefix == sys.base_prefix:\n"
                         f"    site.addsitedir(f'{{sys.prefix}}/lib/python{MINOR}/site-packages')\n")
    return prefix / "bin" / f"python{MINOR}"


def version_of(python):
    """What `python -V` says, as a version."""
    return subprocess.run([python, "-V"], check=True, capture_output=True, text=True).stdout.split()[1]


def wheel(folder, name, version, requires=(), python=None, files=None, tag="py3-none-any"):
    """Writes a wheel with one module; METADATA as given, names not normalised there."""
    file_name = re.sub(r"[-.]+", "_", name)
    info = f"{file_name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += f"Requires-Python: {python}\n" if python else ""
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    path = folder / f"{file_name}-{version}-{tag}.whl"
    content = {f"{file_name}_module.py": "", **(files or {}), f"{info}/METADATA": metadata,
               f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"}
    with zipfile.ZipFile(path, "w") as archive:
        for one, text in content.items():
            archive.writestr(one, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{one},,\n" for one in [*content, f"{info}/RECORD"]))
    return path


class Pip:
    """The newest pip of PyPI, in an environment of its own, working on others (--python)."""

    def __init__(self, folder):
        bed.run([SYSTEM, "-m", "venv", folder / "pip"])
        self.python = folder / "pip" / "bin" / "python"
        self.command = [self.python, "-m", "pip", "--disable-pip-version-check"]
        bed.run([*self.command, "install", "-q", "-U", "pip"])

    def venv(self, folder, *options):
        bed.run([SYSTEM, "-m", "venv", "--without-pip", *options, folder])
        return folder / "bin" / "python"

    def __call__(self, python, *arguments, may_fail=False):
        done = subprocess.run([*map(str, [*self.command, "--python", python, *arguments])], text=True,
                              capture_output=True, timeout=600, cwd="/")
        assert may_fail or done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def install(self, python, *arguments):
        self(python, "install", "-q", "--no-compile", "--no-warn-script-location", *arguments)

    def list(self, python):
        """Normalised name → version."""
        listed = json.loads(self(python, "list", "--format", "json"))
        return {normalise(one["name"]): one["version"] for one in listed}

    def check(self, python):
        """What pip check finds: (package, its version, "missing", name) or (..., "conflict", name, its version)."""
        found = set()
        for line in self(python, "check", may_fail=True).splitlines():
            if one := re.fullmatch(r"(\S+) (\S+) requires (\S+), which is not installed\.", line):
                found.add((normalise(one[1]), one[2], "missing", normalise(one[3])))
            elif one := re.fullmatch(r"(\S+) (\S+) has requirement (.+), but you have (\S+) (\S+)\.", line):
                found.add((normalise(one[1]), one[2], "conflict", normalise(one[4]), one[5]))
            else:
                assert line == "No broken requirements found.", line
        return found


def normalise(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def broken_requirements(subject):
    """The same of a subject of imgforge's report."""
    found = set()
    for finding in subject["findings"]:
        if finding["rule"] != "python/broken-requirements":
            continue
        message = finding["message"]
        if one := re.fullmatch(r"(\S+) (\S+) requires ([A-Za-z0-9._-]+).*, which is not installed", message):
            found.add((one[1], one[2], "missing", normalise(one[3])))
        elif one := re.fullmatch(r"(\S+) (\S+) requires .+, and (\S+) (\S+) is installed", message):
            found.add((one[1], one[2], "conflict", one[3], one[4]))
        else:
            raise AssertionError(message)
    return found
