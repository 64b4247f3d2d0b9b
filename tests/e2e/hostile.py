"""Images that wish us ill, byte by byte: tars with headers that no tool writes, layouts and archives around them.

Nothing of Python's tarfile is used for headers: it would refuse, or repair, most of what is made here.
"""

import gzip
import hashlib
import io
import json
import struct
import tarfile
import zlib

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
END = bytes(1024)  # of a tar


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def header(name, kind=b"0", size=0, link=b"", mode=0o644, magic=b"ustar\x0000", uid=0):
    """A ustar header; names beyond 100 bytes are cut, so say them by a pax record."""
    block = bytearray(512)
    block[0:100] = _bytes(name)[:100].ljust(100, b"\0")
    block[100:108] = b"%07o\0" % mode
    block[108:116] = block[116:124] = b"%07o\0" % uid
    block[124:136] = b"%011o\0" % size if size < 8 ** 11 else b"\x80" + size.to_bytes(11, "big")
    block[136:148] = b"%011o\0" % 0
    block[156:157] = kind
    block[157:257] = _bytes(link)[:100].ljust(100, b"\0")
    block[257:265] = magic
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(data):
    return data + bytes(-len(data) % 512)


def member(name, data=b"", kind=b"0", **more):
    return header(name, kind, len(data), **more) + padded(_bytes(data))


def file(name, data=b"", mode=0o644):
    return member(name, _bytes(data), mode=mode)


def folder(name, mode=0o755):
    return header(name, b"5", mode=mode)


def symlink(name, target):
    return header(name, b"2", link=target, mode=0o777)


def hardlink(name, target):
    return header(name, b"1", link=target)


def pax_record(key, value):
    """"LENGTH KEY=VALUE\\n", whose length counts its own digits."""
    rest = len(key) + len(_bytes(value)) + 3
    length = rest + len(str(rest))
    length = rest + len(str(length))
    return b"%d %s=%s\n" % (length, _bytes(key), _bytes(value))


def pax(records, kind=b"x"):
    """An extended header of raw records."""
    return member("PaxHeaders/x", records, kind)


def long_file(name, data=b""):
    """A file of any name, by a pax record."""
    return pax(pax_record("path", name)) + file(b"long", data)


def tar(*members):
    return b"".join(members) + END


def gzip_zeros(count, head=b""):
    """A gzip stream of `head` and `count` zero bytes, made without as much memory."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    out, block = [packer.compress(head)], bytes(1 << 20)
    for _ in range(count // len(block)):
        out.append(packer.compress(block))
    out.append(packer.compress(bytes(count % len(block))))
    out.append(packer.flush())
    return b"".join(out)


class Layer:
    """A blob, and the digest of the tar that it claims to be of."""

    def __init__(self, blob, diff_id=None, media_type=LAYER, **more):
        self.blob, self.media_type, self.more = blob, media_type, more
        self.diff_id = diff_id or digest(blob)

    @classmethod
    def packed(cls, data, level=1):
        return cls(gzip.compress(data, level, mtime=0), digest(data), LAYER + "+gzip")


def descriptor(data, media_type, **more):
    return {"mediaType": media_type, "digest": digest(data), "size": len(data)} | more


def config_of(layers, **more):
    """The config of a worker, for these layers."""
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [x.diff_id for x in layers]},
              "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "Entrypoint": ["/opt/apache/beam/boot"]}}
    return json.dumps(config | more).encode()


class Layout:
    """An OCI layout in a folder that is filled by hand."""

    def __init__(self, path):
        self.path = path
        self.blobs = path / "blobs/sha256"
        self.blobs.mkdir(parents=True)
        (path / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')

    def add(self, data):
        (self.blobs / hashlib.sha256(data).hexdigest()).write_bytes(data)
        return data

    def manifest(self, layers, config=None, **more):
        """Adds layers, config and manifest; answers the manifest's bytes."""
        config = config_of(layers) if config is None else config
        for layer in layers:
            self.add(layer.blob)
        self.add(config)
        document = {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": descriptor(config, OCI_CONFIG),
                    "layers": [descriptor(x.blob, x.media_type, **x.more) for x in layers]}
        return self.add(json.dumps(document | more).encode())

    def index(self, *entries):
        (self.path / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": list(entries)}))
        return f"oci:{self.path}"


def image(path, *layers, **config):
    """A layout of one image; layers are Layer or the bytes of a plain tar. Answers its name."""
    layers = [layer if isinstance(layer, Layer) else Layer(layer) for layer in layers]
    layout = Layout(path)
    return layout.index(descriptor(layout.manifest(layers, config_of(layers, **config)), OCI_MANIFEST))


def docker_archive(path, layers, config=None, members=()):
    """What docker save of old writes, from tars; `members` are raw ones in front."""
    layers = [Layer(data) for data in layers]
    config = config_of(layers) if config is None else config
    name = hashlib.sha256(config).hexdigest() + ".json"
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = json.dumps([{"Config": name, "RepoTags": ["hostile:1"], "Layers": names}]).encode()
    parts = [*members, file("manifest.json", manifest), file(name, config)]
    parts += [file(where, layer.blob) for where, layer in zip(names, layers)]
    path.write_bytes(tar(*parts))
    return f"docker-archive:{path}"


def elf(machine=62):
    """As much of a 64-bit program, linked statically, as readers of headers look at."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0x400000, 64, 0, 0, 64, 56, 0, 64, 0, 0)


OS_RELEASE = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n'


def site(name, version, python="3.11", folder=None):
    """A distribution as pip leaves it."""
    where = f"usr/local/lib/python{python}/site-packages/{folder or name.replace('-', '_')}-{version}.dist-info"
    return [file(f"{where}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"),
            file(f"{where}/INSTALLER", "pip\n"), file(f"{where}/RECORD", "")]


def worker_members():
    """What a worker's rules look at, in little."""
    library = "usr/local/lib/python3.11"
    return [file("etc/os-release", OS_RELEASE), file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
            file("etc/group", "root:x:0:\n"), folder("tmp/", 0o1777), file("opt/apache/beam/boot", elf(), 0o755),
            file("usr/local/bin/python3.11", elf(), 0o755), symlink("usr/local/bin/python3", "python3.11"),
            symlink("usr/local/bin/python", "python3.11"), file(f"{library}/os.py"), file(f"{library}/venv/__init__.py"),
            file(f"{library}/venv/__main__.py"), file(f"{library}/ensurepip/__init__.py"),
            file(f"{library}/ensurepip/__main__.py"),
            file("usr/local/include/python3.11/patchlevel.h", '#define PY_VERSION "3.11.9"\n'),
            *site("apache-beam", "2.60.0"), *site("pip", "24.0")]


def repack(data):
    """Whether Python's own reader takes a tar, and its names: to see that a maker makes what it says."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return archive.getnames()
