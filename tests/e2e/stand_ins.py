"""Stand-ins for what rendered Dockerfiles download: served on loopback, with the URLs given as build arguments.

Made from Debian 12's own Python 3.11, changed where deadsnakes and conda-forge differ from Debian: no PEP 668 marker,
ensurepip that works outside of an environment, conda's places. What they install is a Python that runs.
"""

import contextlib
import hashlib
import io
import json
import os
import pathlib
import shutil
import tarfile

import bed

PYTHON = "3.11"
REPACKED = ("python3.11", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "python3.11-venv")
WHEELS = ("python3-pip-whl", "python3-setuptools-whl")
REPACKED_VERSION = "3.11.2-99+e2e1"  # newer than whatever Debian's archive has: apt must take ours

DISTUTILS_CONTROL = f"""\
Package: python3.11-distutils
Version: {REPACKED_VERSION}
Architecture: all
Maintainer: end-to-end tests <nobody@localhost>
Description: stand-in: Python 3.11 of Debian has distutils in its standard library
"""

MINIFORGE = """\
#!/bin/sh
# Stand-in for the Miniforge installer.
set -eu
prefix=
while [ $# -gt 0 ]; do
  case "$1" in
    -b) ;;
    -p) prefix=$2; shift ;;
    *) echo "unknown argument $1" >&2; exit 2 ;;
  esac
  shift
done
mkdir -p "$prefix/bin"
cat > "$prefix/bin/conda" <<'END'
#!/bin/sh
# Stand-in for conda: it can make one environment.
set -eu
[ "$#" = 6 ] && [ "$1 $2 $3 $5 $6" = "create -y -p python=3.11 pip" ] || { echo "cannot do: conda $*" >&2; exit 2; }
mkdir -p "$4"
curl -fsSL @URL@/conda-python.tar.gz | tar -xz -C "$4" --no-same-owner
# conda-forge's Python brings these in the prefix, Debian's needs them in the system.
apt-get update
apt-get install -y --no-install-recommends libexpat1 libffi8 libreadline8 libsqlite3-0 libssl3
rm -rf /var/lib/apt/lists/*
"$4/bin/python" -m ensurepip --default-pip
END
chmod 0755 "$prefix/bin/conda"
"""

CONDA_SITE = """\
import os, site, sys
if sys.prefix == sys.base_prefix:
    site.addsitedir(os.path.join(sys.prefix, "lib", "python3.11", "site-packages"))
"""

CUDA_RUNFILE = """\
#!/bin/sh
# Stand-in for NVIDIA's installer: its arguments, its folders, nothing in them.
set -eu
for argument in "$@"; do
  case "$argument" in
    --toolkit | --silent | --override) ;;
    *) echo "[ERROR]: unknown argument $argument" > /var/log/cuda-installer.log; exit 1 ;;
  esac
done
mkdir -p /usr/local/cuda-12.2/lib64
printf 'stand-in\\n' > /usr/local/cuda-12.2/lib64/libcudart.so.12
ln -sfn cuda-12.2 /usr/local/cuda
: > /var/log/cuda-installer.log
"""


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _replace(path, old, new):
    text = path.read_text()
    assert old in text, f"{path} has changed: no {old!r}"
    path.write_text(text.replace(old, new))


def _let_ensurepip_work(library):
    _replace(library / "ensurepip/__init__.py", "    _ensurepip_is_disabled_in_debian_for_system()\n", "")


def _download(folder, packages):
    """The packages' files, from the archive that this machine's apt uses."""
    folder.mkdir()
    bed.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", *packages], cwd=folder)
    files = {path.name.split("_")[0]: path for path in folder.iterdir()}
    return {name: files[name] for name in packages}


def make_deadsnakes(folder, work, packages):
    """A signed repository with Python for jammy; answers the fingerprint of its key."""
    folder.mkdir()
    for name, package in packages.items():
        if name not in REPACKED:
            continue
        tree = work / f"repacked-{name}"
        bed.run(["dpkg-deb", "-R", package, tree])
        control = tree / "DEBIAN/control"
        version = next(line for line in control.read_text().splitlines() if line.startswith("Version: "))[9:]
        control.write_text(control.read_text().replace(version, REPACKED_VERSION))
        (tree / f"usr/lib/python{PYTHON}/EXTERNALLY-MANAGED").unlink(missing_ok=True)
        if name == "python3.11-venv":
            _let_ensurepip_work(tree / "usr/lib/python3.11")
        # md5sums are of the files before the change; dpkg does not need them.
        (tree / "DEBIAN/md5sums").unlink(missing_ok=True)
        bed.run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", tree, folder])
    distutils = work / "distutils"
    (distutils / "DEBIAN").mkdir(parents=True)
    (distutils / "DEBIAN/control").write_text(DISTUTILS_CONTROL)
    bed.run(["dpkg-deb", "--root-owner-group", "-b", distutils, folder])

    suite = folder / "dists/jammy"
    for architecture in ("all", bed.run(["dpkg", "--print-architecture"]).strip()):
        binary = suite / f"main/binary-{architecture}"
        binary.mkdir(parents=True)
        (binary / "Packages").write_text(bed.run(["apt-ftparchive", "packages", "."], cwd=folder))
    release = ["-o", "APT::FTPArchive::Release::Suite=jammy", "-o", "APT::FTPArchive::Release::Codename=jammy",
               "-o", "APT::FTPArchive::Release::Components=main",
               "-o", f"APT::FTPArchive::Release::Architectures={architecture} all"]
    (suite / "Release").write_text(bed.run(["apt-ftparchive", *release, "release", suite]))

    home = work / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", home, "--batch", "--passphrase", ""]
    try:
        bed.run([*gpg, "--quick-gen-key", "imgforge e2e", "rsa2048", "sign", "never"])
        bed.run([*gpg, "--clearsign", "-o", suite / "InRelease", suite / "Release"])
        (folder / "key.asc").write_text(bed.run([*gpg, "--armor", "--export"]))
        listing = bed.run([*gpg, "--with-colons", "--list-keys"])
    finally:
        bed.run(["gpgconf", "--homedir", home, "--kill", "all"])
    return next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))


def make_conda_python(archive, work, packages):
    """Python in a prefix as conda lays it out."""
    tree, wheels = work / "conda-deb", work / "conda-wheels"
    for name, package in packages.items():
        bed.run(["dpkg-deb", "-x", package, tree if name in REPACKED else wheels])
    prefix = work / "conda"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "conda-meta").mkdir()
    library = prefix / "lib/python3.11"
    shutil.move(tree / "usr/bin/python3.11", prefix / "bin/python3.11")
    shutil.move(tree / "usr/lib/python3.11", library)
    for link in ("python", "python3"):
        (prefix / "bin" / link).symlink_to("python3.11")
    (library / "EXTERNALLY-MANAGED").unlink()
    # Links into Debian's /etc and /usr would dangle in the prefix.
    for path in library.rglob("*"):
        if path.is_symlink() and os.readlink(path).startswith("/"):
            target = tree / os.readlink(path).lstrip("/")
            path.unlink()
            if target.exists():
                shutil.copy2(target, path)
    # `site` is frozen into the program, with Debian's dist-packages; the source is changed for those who read it.
    _replace(library / "site.py", '"dist-packages"', '"site-packages"')
    (library / "sitecustomize.py").unlink(missing_ok=True)
    (library / "sitecustomize.py").write_text(CONDA_SITE)
    _replace(library / "sysconfig.py", "prefix_scheme = 'posix_local'", "prefix_scheme = 'posix_prefix'")
    (library / "site-packages").mkdir(exist_ok=True)
    # Wheels within ensurepip, as in Python's own distribution.
    _let_ensurepip_work(library)
    bundled = library / "ensurepip/_bundled"
    bundled.mkdir()
    (bundled / "__init__.py").touch()
    _replace(library / "ensurepip/__init__.py", "sysconfig.get_config_var('WHEEL_PKG_DIR')", "None")
    for project, was in (("setuptools", "65.5.0"), ("pip", "22.3.1")):
        (wheel,) = (wheels / "usr/share/python-wheels").glob(f"{project}-*.whl")
        shutil.copy(wheel, bundled)
        _replace(library / "ensurepip/__init__.py", f'"{was}"', f'"{wheel.name.split("-")[1]}"')
    record = {"name": "python", "version": "3.11.2", "build": "e2e_0", "build_number": 0, "channel": "conda-forge"}
    (prefix / "conda-meta/python-3.11.2-e2e_0.json").write_text(json.dumps(record))
    (prefix / "conda-meta/history").touch()
    with tarfile.open(archive, "w:gz", compresslevel=1) as output:
        output.add(prefix, ".")


def make_cudnn_archive(path):
    """As NVIDIA packs it: one folder, include and lib in it."""
    with tarfile.open(path, "w:xz" if path.suffix in (".xz", ".txz") else "w:gz") as archive:
        for name in ("include/cudnn.h", "lib/libcudnn.so.8", "LICENSE"):
            member = tarfile.TarInfo(f"cudnn-linux-x86_64-8.9.7.29_cuda12-archive/{name}")
            member.size = len(b"stand-in\n")
            archive.addfile(member, io.BytesIO(b"stand-in\n"))


class StandIns:
    """Running stand-ins; `build_args` says which ARGs lead to them."""

    def __init__(self, url, folder, fingerprint):
        self.values = {
            "DEADSNAKES_URL": f"{url}/deadsnakes",
            "DEADSNAKES_KEY_URL": f"{url}/deadsnakes/key.asc",
            "DEADSNAKES_KEY_FINGERPRINT": fingerprint,
            "MINIFORGE_URL": f"{url}/miniforge.sh",
            "MINIFORGE_SHA256": sha256(folder / "miniforge.sh"),
            "CUDA_RUNFILE_URL": f"{url}/cuda.run",
            "CUDA_RUNFILE_SHA256": sha256(folder / "cuda.run"),
        }

    NAMES = {
        "DEADSNAKES_URL": "deadsnakes: a signed repository of Debian's Python 3.11, on loopback",
        "MINIFORGE_URL": "Miniforge: a script that lays out Debian's Python 3.11 as conda does",
        "CUDA_RUNFILE_URL": "CUDA runfile: a script that makes the toolkit's folders",
    }

    def build_args(self, dockerfile):
        """The build arguments that this Dockerfile's text has ARGs for, and the stand-ins' names."""
        declared = {line[4:].split("=")[0].strip() for line in dockerfile.splitlines() if line.startswith("ARG ")}
        used = {name: value for name, value in self.values.items() if name in declared}
        return used, [text for name, text in self.NAMES.items() if name in used]


@contextlib.contextmanager
def stand_ins():
    with bed.temporary_folder() as folder, bed.temporary_folder() as work, bed.file_server(folder) as url:
        packages = _download(work / "packages", (*REPACKED, *WHEELS))
        fingerprint = make_deadsnakes(folder / "deadsnakes", work, packages)
        make_conda_python(folder / "conda-python.tar.gz", work, packages)
        (folder / "miniforge.sh").write_text(MINIFORGE.replace("@URL@", url))
        (folder / "cuda.run").write_text(CUDA_RUNFILE)
        yield StandIns(url, folder, fingerprint)
