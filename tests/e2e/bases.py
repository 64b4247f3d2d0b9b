"""Stand-ins for the base images that recipes name: made from Debian packages, kept in a registry between runs.

Real Python, real pip, real apt; in place of GBs of CUDA and frameworks there is nothing. What is made depends only on
this file, Debian's archive and PyPI, so the cache is keyed by this file and by the CA bundle that is copied in.
"""

import contextlib
import fcntl
import hashlib
import io
import os
import pathlib
import re
import shutil
import tarfile

import bed

CA_BUNDLE = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
PRODUCTS = "run"  # where a run's own images stand in the registry of bases; deleted with it
PLAIN = "docker.io/library/imgforge-e2e-plain:1"
PYTHON = "docker.io/library/imgforge-e2e-python:1"

# A base's root, before its flavour: minimal Debian 12. The machine's own CA bundle and pip settings go in, so that curl
# and pip reach what they reach outside. /etc/ssl/certs alone is not enough: pip in a venv brings a bundle of its own.
PLAIN_DOCKERFILE = """\
FROM scratch
ADD root.tar /
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY pip.conf /etc/pip.conf
CMD ["/bin/bash"]
"""

# As python:3.11 and as tensorflow/tensorflow have it: `python` and `pip` in /usr/local/bin, and no PEP 668 marker.
PYTHON_DOCKERFILE = f"""\
FROM {PLAIN}
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv python3-pip \\
 && rm -rf /var/lib/apt/lists/* /usr/lib/python3.11/EXTERNALLY-MANAGED \\
 && ln -s /usr/bin/python3.11 /usr/local/bin/python \\
 && ln -s /usr/bin/pip3 /usr/local/bin/pip
"""

BEAM_SDK_DOCKERFILE = """\
FROM {python}
ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
RUN {install}
COPY beam /opt/apache/beam
ENTRYPOINT ["/opt/apache/beam/boot"]
"""

TENSORFLOW_DOCKERFILE = f"""\
FROM {PYTHON}
COPY os-release /usr/lib/os-release
ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64
"""

CUDA_DOCKERFILE = """\
FROM {plain}
COPY os-release /usr/lib/os-release
RUN apt-get update && apt-get install -y --no-install-recommends gnupg && rm -rf /var/lib/apt/lists/*
RUN mkdir -p /usr/local/cuda-{minor}/lib64 && ln -s cuda-{minor} /usr/local/cuda
ENV CUDA_VERSION={cuda} \\
    PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
    LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64
"""

JAMMY = """\
PRETTY_NAME="Ubuntu 22.04.4 LTS"
NAME="Ubuntu"
VERSION_ID="22.04"
VERSION="22.04.4 LTS (Jammy Jellyfish)"
VERSION_CODENAME=jammy
ID=ubuntu
ID_LIKE=debian
UBUNTU_CODENAME=jammy
"""


def pip_settings():
    """The machine's pip.conf where there is one: it may name a mirror. Else only which CAs to trust."""
    for candidate in ("/etc/pip.conf", pathlib.Path.home() / ".config/pip/pip.conf", pathlib.Path.home() / ".pip/pip.conf"):
        with contextlib.suppress(OSError):
            return pathlib.Path(candidate).read_text()
    return f"[global]\ncert = {CA_BUNDLE}\n"


def make_boot(path):
    """A boot of the right kind (a static executable of this machine's architecture) that does nothing."""
    source = path.with_suffix(".c")
    source.write_text("int main(void) { return 0; }\n")
    bed.run(["gcc", "-static", "-O1", "-s", "-o", path, source])
    source.unlink()


def make_beam_folder(folder, version, boot=None):
    """/opt/apache/beam as an SDK image of this version has it."""
    (folder / "tars").mkdir(parents=True)
    if boot:
        shutil.copy2(boot, folder / "boot")
    else:
        make_boot(folder / "boot")
    (folder / "LICENSE").write_text("Stand-in of the end-to-end tests.\n")
    (folder / "NOTICE").write_text("Stand-in of the end-to-end tests.\n")
    information = f"Metadata-Version: 2.1\nName: apache-beam\nVersion: {version}\n".encode()
    with tarfile.open(folder / "tars" / "apache-beam.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo(f"apache-beam-{version}/PKG-INFO")
        member.size = len(information)
        archive.addfile(member, io.BytesIO(information))
    return folder


class Bases:
    """Base images by the names that recipes use, in a registry that `bed.Builder` looks into."""

    def __init__(self, cache, mirror, builder):
        self.cache, self.mirror, self.builder = cache, mirror, builder
        self.used = []  # what a test got, for its list of stand-ins

    def _make(self, reference, dockerfile, fill=None, volumes=None):
        """Builds and pushes a base unless an earlier run did; `fill` puts files into the build context."""
        mark = self.cache / "made" / hashlib.sha256(reference.encode()).hexdigest()
        if not mark.exists():
            with bed.temporary_folder() as context:
                (context / "Dockerfile").write_text(dockerfile)
                if fill:
                    fill(context)
                tag = f"{self.mirror.host}/{reference}"
                self.builder.build(context, tag, volumes=volumes)
                self.builder.push(tag, f"docker://{tag}")
            mark.parent.mkdir(exist_ok=True)
            mark.write_text(reference)
        return reference

    def plain(self):
        def fill(context):
            bed.run(["mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", context / "root.tar"])
            shutil.copy(CA_BUNDLE, context)
            (context / "pip.conf").write_text(pip_settings())

        return self._make(PLAIN, PLAIN_DOCKERFILE, fill)

    def python(self):
        self.plain()
        return self._make(PYTHON, PYTHON_DOCKERFILE)

    def wheels(self, beam):
        """apache-beam of this version and what it needs, as wheels from PyPI: so that only one test downloads it."""
        folder = self.cache / "wheels" / beam
        if not folder.exists():
            self.python()
            unfinished = folder.with_name(f"{beam}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            with self.container(f"{self.mirror.host}/{PYTHON}") as run:
                run("pip", "wheel", "--no-cache-dir", "--wheel-dir", "/wheels", f"apache-beam=={beam}", "pip",
                    "setuptools", "wheel", volumes={unfinished: "/wheels"})
            # "no" is how pip's settings say yes to --no-compile; a third of an image is bytecode, and nothing reads it.
            (unfinished / "pip.conf").write_text(
                "[global]\nno-index = true\nfind-links = /wheels\n[install]\nno-compile = no\n")
            unfinished.rename(folder)
        return folder

    def wheel_volumes(self, beam):
        """For Builder.build: pip installs from these wheels and asks nobody."""
        folder = self.wheels(beam)
        return {folder: "/wheels", folder / "pip.conf": "/etc/pip.conf"}

    @contextlib.contextmanager
    def container(self, image):
        """A container of an image; gives a function that runs a command in it and returns what it printed."""
        name = self.builder.buildah("from", "--tls-verify=false", "--signature-policy",
                                    self.builder.folder / "policy.json", image).strip()

        def run_inside(*command, volumes=None):
            words = [w for here, there in (volumes or {}).items() for w in ("--volume", f"{here}:{there}:rw")]
            return self.builder.buildah("run", "--isolation", "chroot", *words, name, "--", *command)

        try:
            yield run_inside
        finally:
            self.builder.buildah("rm", name)

    def beam_sdk(self, reference, python, version, installed=True):
        if python != "3.11":
            raise LookupError(f"{reference}: no stand-in: Debian 12 has Python 3.11; stand-ins of other minors are made by hand")
        self.python()
        volumes = self.wheel_volumes(version) if installed else None
        install = f"pip install --no-cache-dir apache-beam=={version}" if installed else "true"
        text = BEAM_SDK_DOCKERFILE.format(python=PYTHON, install=install)
        return self._make(reference, text, lambda context: make_beam_folder(context / "beam", version), volumes)

    def provide(self, reference):
        """Sees to it that a stand-in of this docker.io or nvcr.io image can be pulled, and says what it is."""
        name = reference if "." in reference.split("/")[0] else f"docker.io/{reference}"
        if sdk := re.fullmatch(r"docker\.io/apache/beam_python(3\.\d+)_sdk:([\w.]+)", name):
            self.beam_sdk(name, *sdk.groups())
            what = "Debian 12, its Python 3.11, apache-beam of that version from PyPI, a boot that does nothing"
        elif re.fullmatch(r"docker\.io/library/python:3\.11-slim-bookworm", name):
            self.python()
            self._make(name, f"FROM {PYTHON}\nCMD [\"python3\"]\n")
            what = "Debian 12 with its own Python 3.11"
        elif re.fullmatch(r"docker\.io/tensorflow/tensorflow:[\w.]+-gpu", name):
            self.python()
            self._make(name, TENSORFLOW_DOCKERFILE, lambda context: (context / "os-release").write_text(JAMMY))
            what = "Debian 12 that calls itself Ubuntu 22.04, its Python 3.11, no TensorFlow and no CUDA"
        elif cuda := re.fullmatch(r"docker\.io/nvidia/cuda:((\d+\.\d+)[\d.]*)-[\w-]+-ubuntu22\.04", name):
            self.plain()
            text = CUDA_DOCKERFILE.format(plain=PLAIN, cuda=cuda[1], minor=cuda[2])
            self._make(name, text, lambda context: (context / "os-release").write_text(JAMMY))
            what = "Debian 12 that calls itself Ubuntu 22.04, no Python, an empty CUDA folder"
        else:
            raise LookupError(f"no stand-in for {reference}")
        self.used.append(f"{name}: {what}")
        return name


def cache_folder():
    """Where bases stay between runs; those of another version of this file are deleted."""
    key = hashlib.sha256(pathlib.Path(__file__).read_bytes() + CA_BUNDLE.read_bytes() + pip_settings().encode())
    root = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "imgforge-e2e"
    folder = root / key.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for other in root.iterdir():
        # One that is locked is in use, by a run from another checkout.
        with contextlib.suppress(OSError), (other / "lock").open("w") as lock:
            if other != folder:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(other, ignore_errors=True)
    return folder


def _delete_products(storage):
    repositories = storage / "docker/registry/v2/repositories"
    if (repositories / PRODUCTS).exists():
        shutil.rmtree(repositories / PRODUCTS)
        with bed.temporary_folder() as folder:
            bed.run(["docker-registry", "garbage-collect", bed.registry_config(folder, storage, 0)])


@contextlib.contextmanager
def bases():
    """The bases, for one run at a time."""
    folder = cache_folder()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _delete_products(folder / "storage")  # of a run that was killed
        try:
            with bed.registry(storage=folder / "storage") as mirror, bed.builder(mirror) as builder:
                yield Bases(folder, mirror, builder)
        finally:
            _delete_products(folder / "storage")
