"""Small images made by hand, file by file: for what Debian 12 does not have (old Pythons), and where only bytes count.

There is nothing in them that runs.
"""

import pathlib

import bases

OS_RELEASE = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n'

WORKER_DOCKERFILE = """\
FROM scratch
COPY root /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENTRYPOINT ["/opt/apache/beam/boot"]
"""


def _distribution(site, name, version):
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "INSTALLER").write_text("pip\n")
    (folder / "RECORD").write_text("")
    package = site / name.replace("-", "_")
    package.mkdir()
    (package / "__init__.py").write_text(f"__version__ = {version!r}\n")


def make_worker(context, python, beam, pip="/usr/local/bin/pip"):
    """Fills a build context for WORKER_DOCKERFILE: Python `python` (three numbers) in /usr/bin, Beam `beam`."""
    root = context / "root"
    minor = ".".join(python.split(".")[:2])
    for folder in ("etc", "usr/bin", "usr/local/bin", "lib64", f"usr/include/python{minor}", "tmp"):
        (root / folder).mkdir(parents=True)
    (root / "etc/os-release").write_text(OS_RELEASE)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    library = root / f"usr/lib/python{minor}"
    for module in ("os.py", "venv/__init__.py", "venv/__main__.py", "ensurepip/__init__.py", "ensurepip/__main__.py"):
        (library / module).parent.mkdir(parents=True, exist_ok=True)
        (library / module).write_text("")
    bundled = library / "ensurepip/_bundled"
    bundled.mkdir()
    for wheel in ("pip-21.0-py3-none-any.whl", "setuptools-50.0-py3-none-any.whl"):
        (bundled / wheel).write_bytes(b"PK\5\6" + bytes(18))
    (root / f"usr/include/python{minor}/patchlevel.h").write_text(f'#define PY_VERSION "{python}"\n')
    bases.make_boot(root / f"usr/bin/python{minor}")
    for link in ("python", "python3"):
        (root / "usr/bin" / link).symlink_to(f"python{minor}")
    script = root / pip.lstrip("/")
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f"#!/usr/bin/python{minor}\nfrom pip._internal.cli.main import main\nmain()\n")
    script.chmod(0o755)
    site = root / f"usr/local/lib/python{minor}/dist-packages"  # where pip puts them on Debian and Ubuntu
    _distribution(site, "apache-beam", beam)
    _distribution(site, "pip", "21.0")
    bases.make_beam_folder(root / "opt/apache/beam", beam, boot=root / f"usr/bin/python{minor}")
    return pathlib.Path(context)


def add_distribution(context, minor, name, version):
    """One more installed distribution, beside those of make_worker."""
    _distribution(pathlib.Path(context) / f"root/usr/local/lib/python{minor}/dist-packages", name, version)
