"""Images whose makers wish us ill. Each ends in the right verdict or in exit code 3 with one line, within bounds of time
and memory, and leaves this machine as it was.

docs/hostile-images.md is the list of what can go wrong, and of the tests for it; here are those that take a whole image.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import xml.etree.ElementTree

import pytest

import hostile
from conftest import Result
from hostile import Layer, file, folder, hardlink, header, image, long_file, member, pax, pax_record, symlink, tar

SECONDS = 30  # more than any of these may take on a busy machine
MEGABYTES = 400  # of address space beside the program's own, for what has to stay within 64 MB of memory

FORMATS = ("text", "json", "sarif", "junit", "github")


@pytest.fixture(autouse=True)
def say(say_stand_ins):
    say_stand_ins()


# A program has the memory of who started it on its account, and pytest's is large: something small starts it.
LAUNCH = """
import os, subprocess, sys, threading
child = subprocess.Popen(sys.argv[3:])
threading.Timer(float(sys.argv[2]), child.kill).start()
_, status, usage = os.wait4(child.pid, 0)
os.write(int(sys.argv[1]), b"%d %d" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss // 1024))
os._exit(0)
"""


class Run(Result):
    """A run within bounds. What it took of memory: `megabytes`."""

    def __init__(self, binary, arguments, environment=None, cwd=None, seconds=SECONDS):
        variables = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "DOCKER_CONFIG": "/nonexistent",
                     "XDG_RUNTIME_DIR": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"} | (environment or {})
        reader, writer = os.pipe()
        done = subprocess.run(["/usr/bin/python3", "-ISc", LAUNCH, str(writer), str(seconds), binary, *map(str, arguments)],
                              env=variables, cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, pass_fds=[writer])
        os.close(writer)
        self.out, self.err = done.stdout, done.stderr
        self.code, self.megabytes = map(int, os.read(reader, 100).split())
        os.close(reader)

    def __repr__(self):
        return f"exit code {self.code}, {self.megabytes:.0f} MB\n{self.out.decode(errors='replace')[:4000]}\n{self.err.decode(errors='replace')[:4000]}"


@pytest.fixture
def verify(imgforge):
    def run(name, *options, **more):
        return Run(imgforge.binary, ["verify", "--no-cache", "--format", "json", *options, name], **more)

    return run


@pytest.fixture
def inspect(imgforge):
    def run(name, *options, **more):
        return Run(imgforge.binary, ["inspect", "--no-cache", "--format", "json", *options, name], **more)

    return run


def is_refused(run, kind, *words, megabytes=80):
    """Exit code 3, one line of cause, little memory."""
    assert run.code == 3, run
    error = run.subject["error"]
    assert error["kind"] == kind, run
    for word in words:
        assert word in error["message"], (word, run)
    assert len(error["message"]) < 1000 and "\n" not in error["message"], run
    assert run.megabytes < megabytes, run


def worker(*more):
    return tar(*hostile.worker_members(), *more)


@pytest.fixture
def truth(verify, tmp_path):
    """What is said of the worker that all others are made from."""
    return opinion(verify(image(tmp_path / "truth", worker())))


def opinion(run):
    """What must not depend on what else is in the image."""
    assert run.code in (0, 1), run
    subject = run.subject
    return [run.code] + [sorted(json.dumps(x.get("rule", x) if isinstance(x, dict) else x) for x in subject[key])
                         for key in ("findings", "undecided", "passed")]


# Bytes without end.


@pytest.mark.parametrize("what", ["one file", "empty blocks", "behind the end"])
def test_decompression_bombs(what, verify, tmp_path):
    """A thousand bytes become a million; only what is asked for is kept, and more than 200 GiB is not unpacked."""
    size = 1 << 30
    if what == "one file":
        blob = hostile.gzip_zeros(size + 1024, header("zeros", size=size))
    elif what == "empty blocks":
        blob = hostile.gzip_zeros(size)
    else:
        blob = hostile.gzip_zeros(size, worker())
    assert len(blob) < size / 200
    run = verify(image(tmp_path / "a", Layer(blob, "sha256:" + "0" * 64, hostile.LAYER + "+gzip")))
    assert run.code == 1 and run.megabytes < 80, run


def test_a_bomb_in_a_file_that_is_read(verify, tmp_path):
    """A metadata file, an os-release and an entrypoint without end: none is kept whole."""
    size = 128 << 20
    for name in ("usr/local/lib/python3.11/site-packages/torch-2.0.dist-info/METADATA", "etc/os-release",
                 "opt/apache/beam/boot", "usr/local/lib/python3.11/site-packages/a.pth"):
        # The worker's own file of this name comes before it; the later holds.
        blob = hostile.gzip_zeros(size + 1024, worker()[:-1024] + header(name, size=size, mode=0o755))
        run = verify(image(tmp_path / name.replace("/", "_"), Layer(blob, "sha256:" + "0" * 64, hostile.LAYER + "+gzip")))
        # Of what tells of a package the start is enough; half a path file would leave folders out, so it is refused.
        assert run.code == 3 if name.endswith(".pth") else run.code in (0, 1), (name, run)
        assert run.megabytes < 100, (name, run)


def test_zstd_bombs_and_windows(verify, tmp_path):
    zeros = subprocess.run("head -c 1073741824 /dev/zero | zstd -q -3 --long=27 -c", shell=True, capture_output=True).stdout
    run = verify(image(tmp_path / "a", Layer(zeros, "sha256:" + "0" * 64, hostile.LAYER + "+zstd")))
    assert run.code == 1 and run.megabytes < 80 + 128, run
    window = b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"  # asks for 2 GiB
    is_refused(verify(image(tmp_path / "b", Layer(window, media_type=hostile.LAYER + "+zstd"))), "limit", "window")


def test_endless_pax_headers(verify, tmp_path):
    """Headers of headers are bounded: one of 1 GiB, a million in a row, and names by them beyond what Linux takes."""
    size = 1 << 30
    blob = hostile.gzip_zeros(size, header("PaxHeaders/x", b"x", size) + b"1073741824 comment=")
    run = verify(image(tmp_path / "one", Layer(blob, media_type=hostile.LAYER + "+gzip")))
    assert run.code == 3 and run.megabytes < 80, run
    row = pax(pax_record("comment", "x" * 400)) * 300_000
    run = verify(image(tmp_path / "row", Layer.packed(tar(row, file("a"), *hostile.worker_members()))))
    assert run.code in (0, 1, 3) and run.megabytes < 80, run
    records = b"".join(pax_record(f"SCHILY.xattr.user.{number}", "x") for number in range(30_000))
    run = verify(image(tmp_path / "records", tar(pax(records), file("a"), *hostile.worker_members())))
    assert run.code in (0, 1, 3) and run.megabytes < 120, run
    is_refused(verify(image(tmp_path / "name", tar(long_file("n" * 5000)))), "limit", "path")
    longlink = member("././@LongLink", bytes([65]) * 200_000 + b"\0", b"L", magic=b"ustar  \0")
    run = verify(image(tmp_path / "longlink", tar(longlink, file("a"))))
    is_refused(run, "limit", "path")
    globals_ = pax(pax_record("path", "etc/os-release"), b"g") + file("a", "x")
    assert verify(image(tmp_path / "global", tar(globals_, *hostile.worker_members()))).code in (1, 3)


def test_sparse_maps(verify, tmp_path):
    """Files that are all holes, of exabytes, and maps of a million parts."""
    huge = 1 << 60
    old = bytearray(header("usr/share/huge", b"S", 512, magic=b"ustar  \0"))
    old[386:398], old[398:410] = b"%011o\0" % 0, b"%011o\0" % 512
    old[483:495] = b"\x80" + huge.to_bytes(11, "big")
    old[148:156] = b" " * 8
    old[148:156] = b"%06o\0 " % sum(old)
    run = verify(image(tmp_path / "old", tar(bytes(old), padded := bytes(512), *hostile.worker_members())))
    assert run.code in (0, 1, 3) and run.megabytes < 80, (len(padded), run)
    records = (pax_record("GNU.sparse.major", "1") + pax_record("GNU.sparse.minor", "0") +
               pax_record("GNU.sparse.name", "etc/os-release") + pax_record("GNU.sparse.realsize", str(huge)))
    for number, text in enumerate([b"1000000\n" + b"0\n1\n" * 1_000_000, b"1\n0\n99999999999999999999999999\n",
                                   b"2\n100\n10\n0\n10\n", b"9" * 600, b"1\n%d\n1\n" % (huge - 1)]):
        data = text + bytes(-len(text) % 512)
        run = verify(image(tmp_path / f"new{number}", tar(pax(records), member("sparse", data + b"x"), *hostile.worker_members())))
        assert run.code in (0, 1, 3) and run.megabytes < 120, (number, run)


def test_gigantic_documents(verify, tmp_path):
    """Manifests, indexes, configs and index.json beyond 4 MiB; JSON that is deep; an annotation of megabytes."""
    layout = hostile.Layout(tmp_path / "config")
    layers = [Layer(worker())]
    manifest = layout.manifest(layers, hostile.config_of(layers, comment="x" * (5 << 20)))
    is_refused(verify(layout.index(hostile.descriptor(manifest, hostile.OCI_MANIFEST))), "limit", "config")
    layout = hostile.Layout(tmp_path / "manifest")
    manifest = layout.manifest(layers, annotations={"a": "x" * (5 << 20)})
    is_refused(verify(layout.index(hostile.descriptor(manifest, hostile.OCI_MANIFEST))), "limit", "manifest")
    layout = hostile.Layout(tmp_path / "top")
    entry = hostile.descriptor(layout.manifest(layers), hostile.OCI_MANIFEST)
    is_refused(verify(layout.index(*[entry] * 30_000)), "limit", "index.json")
    layout = hostile.Layout(tmp_path / "deep")
    deep = layout.add(b'{"schemaVersion":2,"config":' + b"[" * 2_000_000)
    is_refused(verify(layout.index(hostile.descriptor(deep, hostile.OCI_MANIFEST))), "limit", "nested")
    layout = hostile.Layout(tmp_path / "entries")
    inner = layout.add(json.dumps({"schemaVersion": 2, "manifests": [entry] * 20_000}).encode())
    run = verify(layout.index(hostile.descriptor(inner, hostile.OCI_INDEX)))
    assert run.code == 3 and run.megabytes < 120, run


def test_thousands_of_layers(verify, tmp_path):
    layer = Layer(tar(file("a")))
    is_refused(verify(image(tmp_path / "501", *[layer] * 501)), "limit", "layers")
    is_refused(verify(image(tmp_path / "5000", *[layer] * 5000)), "limit", "layers")
    start = time.monotonic()
    run = verify(image(tmp_path / "500", worker(), *[tar(file(f"layer{n}"), file("etc/.wh.x")) for n in range(499)]))
    assert run.code in (0, 1) and run.megabytes < 80, run
    assert time.monotonic() - start < SECONDS / 2


def test_very_many_entries(verify, tmp_path):
    """More than is allowed is refused, not left out; the limit is a flag."""
    many = image(tmp_path / "many", worker(), tar(*[file(f"d{n % 10}/f{n}") for n in range(1100)]))
    is_refused(verify(many, "--max-files", "1000"), "limit", "entries")
    assert verify(many).code in (0, 1)


@pytest.mark.parametrize("what", ["distributions", "interpreters", "venvs"])
def test_more_python_than_is_read_is_no_pass(what, verify, tmp_path):
    """What hides by its number is not left out: its rules are undecided."""
    more = {"distributions": lambda n: hostile.site(f"p{n}", "1.0"),
            "interpreters": lambda n: [file(f"opt/p{n}/bin/python3.{n % 20}", hostile.elf(), 0o755)],
            "venvs": lambda n: [file(f"opt/v{n}/pyvenv.cfg", f"home = /opt/v{n + 1}/bin\nversion = 3.11.1\n"),
                                symlink(f"opt/v{n}/bin/python3.11", f"/opt/v{n + 1}/bin/python3.11")]}[what]
    run = verify(image(tmp_path / "a", Layer.packed(worker(*[m for n in range(25_000) for m in more(n)]))))
    assert run.code in (0, 1) and run.megabytes < 150, run
    assert run.subject["verdict"] in ("undecided", "fail"), run
    assert "beam/not-installed" in [x["rule"] for x in run.subject["undecided"] + run.subject["findings"]], run


def test_what_hides_behind_a_limit(verify, tmp_path):
    """Folders of sys.path, lines of a path file, a database: beyond the limit is an error, and nothing is left out."""
    site = "usr/local/lib/python3.11/site-packages"
    many = [folder(f"opt/p{n}/") for n in range(5000)]
    names = "".join(f"/opt/p{n}\n" for n in range(5000))
    is_refused(verify(image(tmp_path / "pth", worker(*many, file(f"{site}/a.pth", names)))), "limit", "folders")
    path = {"Entrypoint": ["/opt/apache/beam/boot"], "Env": ["PATH=/usr/local/bin", "PYTHONPATH=" + names.replace("\n", ":")]}
    is_refused(verify(image(tmp_path / "pythonpath", worker(*many), config=path)), "limit", "folders")
    is_refused(verify(image(tmp_path / "long", worker(file(f"{site}/a.pth", "#" * (2 << 20))))), "limit", "a.pth")
    few = image(tmp_path / "few", worker(*many[:3000], file(f"{site}/a.pth", names)))
    assert verify(few).code in (0, 1)


# Names.

ESCAPE = "\x1b]0;owned\x07\x1b[31mred\u202egnp\u200b\r\n::error::injected\t\x7f\u0085\u2028"
BAD = [ESCAPE.encode(), b"caf\xe9", b"\xff\xfe\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"]]>&lt;x/>\"'", b"\\x1b",
       b"##vso[task.setvariable variable=PATH]/x", b"::set-output name=verified::true", b"###[add-path]x"]


def nothing_hostile(data, where):
    """Bytes that are UTF-8, without controls but line feeds and what turns text around."""
    text = data.decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text), (where, text[:3000])
    # Commands that services take from logs: lines that begin with "::name", but for our own, and "##name[" anywhere.
    assert not re.search(r"^\s*::(?!error |warning |notice )|^\s*::error::injected|##[a-z]*\[", text, re.M | re.I), (where, text[:3000])


@pytest.mark.parametrize("kind", FORMATS)
def test_hostile_names_are_escaped(kind, imgforge, tmp_path):
    """In findings, facts and messages: a distribution, an entrypoint, a folder of PATH, a layer's maker."""
    for number, bad in enumerate(BAD):
        clean = bad.replace(b"/", b"_")
        root = [m for m in hostile.worker_members() if not m.startswith(b"opt/apache/beam/boot")]
        where = b"opt/" + clean
        root += [long_file(where + b"/python3", hostile.elf()), long_file(b"opt/apache/beam/" + clean)]
        root += [long_file(b"usr/local/lib/python3.11/site-packages/" + clean + b"-1.dist-info/METADATA", b"Name: " + bad),
                 file("usr/local/lib/python3.11/site-packages/b-1.dist-info/METADATA", b"Metadata-Version: 2.1\nName: b\nVersion: " + clean.replace(b"\n", b"") + b"\nRequires-Dist: " + clean.replace(b"\n", b"") + b"\n"),
                 file("usr/local/lib/python3.11/site-packages/b-1.dist-info/INSTALLER", clean),
                 pax(pax_record("linkpath", b"../" + clean)) + symlink("opt/apache/beam/boot", "x")]
        text = bad.decode(errors="replace")
        layers = [Layer(tar(*root))]
        config = {"Env": ["PATH=/usr/local/bin:/" + text, text + "=" + text], "Entrypoint": ["/opt/apache/beam/boot", text],
                  "User": text, "WorkingDir": "/" + text, "Labels": {text: text, "org.opencontainers.image.version": text}}
        name = image(tmp_path / f"{kind}{number}", *layers, config=config, history=[{"created_by": text}], author=text)
        for run in [Run(imgforge.binary, ["verify", "--no-cache", "-v", "--format", kind, name])] + (
                [Run(imgforge.binary, ["inspect", "--no-cache", "--format", kind, name])] if kind in ("text", "json") else []):
            assert run.code in (0, 1), run
            nothing_hostile(run.out, kind)
            nothing_hostile(run.err, kind)
            if kind in ("json", "sarif"):
                json.loads(run.out)
            if kind == "junit":
                xml.etree.ElementTree.fromstring(run.out)


@pytest.mark.parametrize("kind", FORMATS)
def test_hostile_names_in_errors(kind, imgforge, tmp_path):
    """What cannot be read is told in every format, and what its maker wrote is escaped there, too."""
    for number, bad in enumerate(BAD):
        text = bad.decode(errors="replace")
        layout = hostile.Layout(tmp_path / f"{kind}{number}")
        document = layout.add(json.dumps({"schemaVersion": 2, "config": {"mediaType": text, "digest": text, "size": 1}, "layers": []}).encode())
        entry = hostile.descriptor(document, hostile.OCI_MANIFEST, annotations={"org.opencontainers.image.ref.name": text})
        for name in (layout.index(entry), layout.index(entry) + ":none", layout.index(hostile.descriptor(document, text))):
            run = Run(imgforge.binary, ["verify", "--no-cache", "--format", kind, name])
            assert run.code == 3, run
            nothing_hostile(run.out, kind)
            nothing_hostile(run.err, kind)
        archive = tmp_path / f"{kind}{number}.tar"
        hostile.docker_archive(archive, [worker()], members=[pax(pax_record("linkpath", bad)) + symlink("manifest.json", "x")])
        tags = json.dumps([{"Config": text, "RepoTags": [text, text + "2"], "Layers": [text]}] * 2).encode()
        archive.write_bytes(tar(file("manifest.json", tags)))
        for name in (f"docker-archive:{archive}", f"docker-archive:{archive}:@0"):
            run = Run(imgforge.binary, ["verify", "--no-cache", "--format", kind, name])
            assert run.code == 3, run
            nothing_hostile(run.out, kind)
            nothing_hostile(run.err, kind)


def test_names_out_of_the_root(verify, truth, tmp_path):
    """`..` and absolute names are names in the image, as a runtime takes them; this machine is neither read nor changed."""
    canary = tmp_path / "canary"
    names = ["../" * 12 + str(canary).lstrip("/"), str(canary), "a/../../../../" + str(canary), ".//..//" + str(canary)]
    before = set(tmp_path.rglob("*"))
    name = image(tmp_path / "a", worker(*[long_file(n, b"written") for n in names],
                                        *[symlink(f"opt/link{n}", "../" * 12 + "etc/passwd") for n in range(3)],
                                        hardlink("opt/hard", "../../../../etc/shadow"), symlink("opt/self", "/proc/self/root"),
                                        long_file(f"opt/self{canary}", b"written")))
    made = set(tmp_path.rglob("*"))
    assert opinion(verify(name, cwd=tmp_path)) == truth
    assert set(tmp_path.rglob("*")) == made and not canary.exists(), made - before


def test_names_that_override(verify, tmp_path):
    """Absolute names and such with dots are the same file: a boot that comes again as `//opt/./x/../apache/...` is gone."""
    again = [file("/opt/./x/../apache//beam/boot", "no program")]
    run = verify(image(tmp_path / "a", worker(*again)))
    assert any(f["rule"].startswith("beam/boot") for f in run.subject["findings"]), run


def test_nothing_of_this_machine_is_read(imgforge, tmp_path):
    """Links of the image are the image's: what it calls /etc/os-release and /etc/passwd is never this machine's."""
    root = [m for m in hostile.worker_members() if not m.startswith((b"etc/", b"usr/local/bin/python3.11"))]
    links = [symlink("etc/os-release", "../" * 9 + "usr/lib/os-release"), symlink("etc/passwd", "/proc/self/cwd/etc/passwd"),
             symlink("usr/local/bin/python3.11", "/usr/bin/python3"), symlink("etc/group", "/proc/1/root/etc/group")]
    name = image(tmp_path / "a", tar(*root, *links))
    trace = tmp_path / "trace"
    run = Run("/usr/bin/strace", ["-f", "-qq", "-e", "trace=%file", "-o", trace, imgforge.binary, "verify", "--no-cache",
                                  "--format", "json", name], seconds=2 * SECONDS)
    assert run.code in (0, 1), run
    opened = {m for m in re.findall(r'"((?:[^"\\]|\\.)*)"', trace.read_text())}
    assert any(str(tmp_path) in path for path in opened), "the trace shows what was opened"
    foreign = [path for path in opened if re.match("/(etc/(os-release|passwd|group)|usr/lib/os-release|usr/bin/python|proc/(1|self/cwd))", path)]
    assert not foreign, foreign


def test_link_cycles_and_chains(verify, truth, tmp_path):
    """Forty links are followed; circles, and chains of ten thousand, are dead ends, and soon."""
    circle = [symlink("c/a", "b"), symlink("c/b", "a"), symlink("c/self", "self/x"), symlink("opt/loop", "."),
              hardlink("c/h1", "c/h2"), hardlink("c/h2", "c/h1"), hardlink("c/h", "c/h")]
    chain = [symlink(f"c/{n}", str(n + 1)) for n in range(10_000)]
    hard = [file("c/h0", "x")] + [hardlink(f"c/h{n + 1}", f"c/h{n}") for n in range(10_000)]
    assert opinion(verify(image(tmp_path / "a", worker(*circle, *chain, *hard)))) == truth
    for number, links in enumerate([[symlink("opt/apache/beam/boot", "boot")],
                                    [symlink("opt/apache/beam/boot", "../../../c/0"), *chain],
                                    [hardlink("opt/apache/beam/boot", "opt/apache/beam/boot")],
                                    [symlink("opt/apache/beam", "../apache/beam")]]):
        root = [m for m in hostile.worker_members() if not m.startswith(b"opt/")]
        run = verify(image(tmp_path / str(number), tar(*root, *links)))
        (found,) = [f for f in run.subject["findings"] if f["rule"].startswith("beam/boot")]
        assert found["rule"] == "beam/boot-missing" or "leads nowhere" in found["message"], (number, run)


def test_links_that_multiply(verify, truth, tmp_path):
    """Each folder holds two links to the next: 2^60 paths, and patterns over all of them."""
    doubles = [symlink(f"m/{n}/{side}", f"../{n + 1}") for n in range(60) for side in "ab"]
    into_itself = [symlink(f"usr/local/lib/python3.11/site-packages/l{n}", ".") for n in range(50)]
    lib = [symlink(f"usr/lib/l{n}", "..") for n in range(50)] + [symlink(f"opt/l{n}", "/") for n in range(50)]
    assert opinion(verify(image(tmp_path / "a", worker(*doubles, *into_itself, *lib)))) == truth


def test_deep_and_wide_folders(verify, truth, tmp_path):
    deep = [long_file(b"a/" * 2000 + b"f"), long_file(b"usr/local/lib/python3.11/site-packages/" + b"b/" * 2000 + b"f.so")]
    many = [long_file(b"q/" + b"a/" * (n % 2000) + b"%d" % n) for n in range(4_000)]
    assert opinion(verify(image(tmp_path / "a", Layer.packed(worker(*deep, *many))))) == truth


# Entries that contradict each other.


def test_duplicate_entries(verify, truth, tmp_path):
    """Of entries of one path, the last holds, as it does where the tar is unpacked."""
    good, bad = file("opt/apache/beam/boot", hostile.elf(), 0o755), file("opt/apache/beam/boot", "no program", 0o755)
    root = [m for m in hostile.worker_members() if not m.startswith(b"opt/")]
    assert opinion(verify(image(tmp_path / "a", tar(*root, *[bad] * 1000, good)))) == truth
    run = verify(image(tmp_path / "b", tar(*root, *[good] * 1000, bad)))
    assert any(f["rule"].startswith("beam/boot") for f in run.subject["findings"]), run
    kinds = [symlink("opt/apache/beam/boot", "x"), folder("opt/apache/beam/boot"), hardlink("opt/apache/beam/boot", "etc/passwd")]
    for number, kind in enumerate(kinds):
        run = verify(image(tmp_path / f"c{number}", tar(*root, good, kind)))
        expected = any(f["rule"].startswith("beam/boot") for f in run.subject["findings"])
        assert expected or kind == kinds[1], (number, run)


def test_whiteout_oddities(verify, truth, tmp_path):
    """What only looks like a whiteout deletes nothing; what is one deletes what lies below, not beside it."""
    odd = [file(".wh."), file(".wh..wh.plnk/x"), file("opt/.wh..wh.orph"), file("opt/.wh...", ""), file("opt/.wh.."),
           file("opt/.wh.apache/beam/boot"), folder("usr/.wh.local"), file(".wh.nothing-there"),
           file("opt/apache/beam/boot.wh.x"), file("opt/apache/beam/wh.boot"), file("opt/apache/beam/.WH.boot")]
    run = verify(image(tmp_path / "odd", worker(), tar(*[x for x in odd if not x.startswith(b"usr/")])))
    assert opinion(run) == truth
    same = worker(file("opt/apache/beam/.wh.boot"))
    assert opinion(verify(image(tmp_path / "same", same))) == truth, "a whiteout spares its own layer"
    gone = [[file("opt/apache/beam/.wh.boot", "content", 0)], [file("opt/apache/.wh.beam")], [file(".wh.opt")],
            [file("opt/apache/beam/.wh..wh..opq")], [file(".wh..wh..opq")], [file("./opt//apache/../apache/beam/.wh.boot")],
            [hardlink("opt/apache/beam/.wh.boot", "etc/passwd")], [symlink("opt/apache/beam/.wh.boot", "x")],
            [file("opt/apache/beam/.wh..wh..opq"), file("opt/apache/beam/.wh..wh..opq"), file("opt/apache/beam/.wh.boot")]]
    for number, entries in enumerate(gone):
        run = verify(image(tmp_path / f"gone{number}", worker(), tar(*entries)))
        assert "beam/boot-missing" in [f["rule"] for f in run.subject["findings"]], (number, run)


def test_odd_types(verify, truth, tmp_path):
    """Devices, FIFOs, sockets, types that nobody knows, sizes on what has none, modes and owners out of range."""
    odd = [header("dev/null", b"3"), header("dev/sda", b"4"), header("run/fifo", b"6"), header("x/contiguous", b"7"),
           header("x/unknown", b"Z"), header("x/nul", b"\0"), header("x/volume", b"V", magic=b"ustar  \0"),
           member("x/dumpdir", b"Yx\0\0", b"D", magic=b"ustar  \0"),
           pax(pax_record("uid", "-1") + pax_record("gid", "99999999999999999999") + pax_record("mtime", "9e999")) + file("x/owner"),
           header("x/mode", mode=0o7777777), header("", b"5"), header("/", b"5"), header(".", b"5")]
    assert opinion(verify(image(tmp_path / "a", worker(*odd)))) == truth
    boot = [header("opt/apache/beam/boot", kind, mode=0o755) for kind in (b"3", b"6")]
    root = [m for m in hostile.worker_members() if not m.startswith(b"opt/")]
    for number, entry in enumerate(boot):
        run = verify(image(tmp_path / f"b{number}", tar(*root, entry)))
        assert any(f["rule"].startswith("beam/boot") for f in run.subject["findings"]), run
    is_refused(verify(image(tmp_path / "c", tar(header("x", size=1 << 62)))), "corrupt")
    # Go's reader, and so every runtime, takes the bytes of a folder for the next header: nobody unpacks this.
    is_refused(verify(image(tmp_path / "d", tar(member("x", b"x" * 10, b"5"), file("y")))), "corrupt")


def test_a_root_that_is_a_link(verify, truth, tmp_path):
    run = verify(image(tmp_path / "a", worker(), tar(symlink("/", "/etc"), symlink(".", "opt"), symlink("./", "opt"))))
    assert opinion(run) == truth


# Documents that lie.


def test_a_manifest_that_is_also_an_index(verify, tmp_path):
    layers = [Layer(worker())]
    for number, media_type in enumerate([hostile.OCI_MANIFEST, hostile.OCI_INDEX, "", "text/plain"]):
        layout = hostile.Layout(tmp_path / str(number))
        other = hostile.descriptor(layout.manifest([Layer(tar())]), hostile.OCI_MANIFEST)
        both = layout.manifest(layers, manifests=[other], **({} if media_type else {"mediaType": ""}))
        is_refused(verify(layout.index(hostile.descriptor(both, media_type or hostile.OCI_MANIFEST))), "corrupt")
    layout = hostile.Layout(tmp_path / "top")
    entry = hostile.descriptor(layout.manifest(layers), hostile.OCI_MANIFEST)
    (layout.path / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry], "layers": [], "config": entry}))
    is_refused(verify(f"oci:{layout.path}"), "corrupt", "ambiguous")
    layout = hostile.Layout(tmp_path / "twice")
    text = layout.manifest(layers).decode()
    twice = layout.add(text.replace('"layers":', '"layers":[],"layers":').encode())
    is_refused(verify(layout.index(hostile.descriptor(twice, hostile.OCI_MANIFEST))), "corrupt")


@pytest.mark.parametrize("what", ["layer", "config", "manifest", "size", "diff id", "data"])
def test_digests_that_lie(what, verify, tmp_path):
    layout = hostile.Layout(tmp_path / "a")
    layers = [Layer.packed(worker())]
    entry = hostile.descriptor(layout.manifest(layers), hostile.OCI_MANIFEST)
    options = []
    if what in ("layer", "config", "manifest"):
        blob = {"layer": layers[0].blob, "config": hostile.config_of(layers), "manifest": layout.manifest(layers)}[what]
        at = len(blob) // 2
        (layout.blobs / hostile.digest(blob)[7:]).write_bytes(blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1:])
    elif what == "size":
        entry = hostile.descriptor(layout.manifest([Layer(layers[0].blob, layers[0].diff_id, size=7)]), hostile.OCI_MANIFEST)
    elif what == "data":
        entry["data"] = "e30="
    else:
        layers[0].diff_id = "sha256:" + "1" * 64
        entry, options = hostile.descriptor(layout.manifest(layers), hostile.OCI_MANIFEST), ["--assurance", "full"]
    is_refused(verify(layout.index(entry), *options), "corrupt")


def test_digests_that_are_paths(verify, tmp_path):
    """A digest becomes a path or a URL only after it was taken apart."""
    (tmp_path / "secret").write_text("{}")
    for number, text in enumerate(["sha256:../../../secret", "sha256:" + "../" * 20 + "secret", "../..:x", "sha256:" + "A" * 64,
                                   "sha256:" + "a" * 63 + "/", "sha512:" + "a" * 64, "md5:" + "a" * 32, "sha256:" + "a" * 64 + "\0", ""]):
        layout = hostile.Layout(tmp_path / str(number))
        name = layout.index({"mediaType": hostile.OCI_MANIFEST, "digest": text, "size": 2})
        run = verify(name)
        is_refused(run, "corrupt", "digest")
        assert "secret" not in run.subject["error"]["message"] or "no digest" in run.subject["error"]["message"]


def test_blobs_that_are_links(verify, imgforge, tmp_path):
    """A blob or an index.json that is a link to a file of this machine; or a pipe, or a folder. A folder of blobs may be
    a link: what is read there has the digest's name, and its bytes."""
    outside = tmp_path / "outside"
    layers = [Layer(worker())]
    for number, what in enumerate(["link", "folder", "index", "pipe", "no file"]):
        layout = hostile.Layout(tmp_path / f"l{number}")
        manifest = layout.manifest(layers)
        name = layout.index(hostile.descriptor(manifest, hostile.OCI_MANIFEST))
        blob = layout.blobs / hostile.digest(layers[0].blob)[7:]
        if what == "link":
            outside.write_bytes(blob.read_bytes())
            blob.unlink()
            blob.symlink_to(outside)
        elif what == "folder":
            layout.blobs.rename(tmp_path / "elsewhere")
            layout.blobs.symlink_to(tmp_path / "elsewhere")
        elif what == "index":
            (layout.path / "index.json").rename(tmp_path / "index.json")
            (layout.path / "index.json").symlink_to(tmp_path / "index.json")
        elif what == "pipe":
            blob.unlink()
            os.mkfifo(blob)
        else:
            blob.unlink()
            blob.mkdir()
        run = verify(name)
        assert run.code == (1 if what == "folder" else 3), (what, run)


def test_archives_with_links(verify, tmp_path):
    """Members of docker-archives that are links: in a circle, through many, out of the archive, to this machine."""
    (tmp_path / "manifest.json").write_text("[]")
    for number, link in enumerate([[symlink("manifest.json", "manifest.json")], [symlink("manifest.json", "/etc/passwd")],
                                   [symlink("manifest.json", str(tmp_path / "manifest.json"))],
                                   [symlink("manifest.json", "../" * 20 + "etc/passwd")], [header("manifest.json", b"3")],
                                   [hardlink("manifest.json", "/etc/passwd")],
                                   [symlink("manifest.json", "0"), *[symlink(str(n), str(n + 1)) for n in range(5000)]]]):
        archive = tmp_path / f"{number}.tar"
        archive.write_bytes(tar(*link))
        run = verify(f"docker-archive:{archive}")
        assert run.code == 3 and "root:" not in repr(run), run


def test_configs_that_are_too_much(verify, tmp_path):
    """Env with a million variables, an endless entrypoint, labels without end, uids that are none: within 4 MiB, and read."""
    layers = [worker(file("etc/passwd", "".join(f"u{n}:x:{n}:0::/:/bin/sh\n" for n in range(200_000))),
                     file("etc/group", "g:x:99999999999999999999:" + "a," * 500_000 + "\n"))]
    for number, config in enumerate([{"Env": [f"A{n}=x" for n in range(100_000)]}, {"Entrypoint": ["x"] * 300_000},
                                     {"Labels": {f"l{n}": "" for n in range(100_000)}}, {"User": "4294967296:99999999999999999999999"},
                                     {"User": "u199999"}, {"User": "-1"}, {"Env": ["PATH=" + ":".join(f"/p{n}" for n in range(100_000))]},
                                     {"Env": ["PATH=" + ":" * 1_000_000]}, {"Env": ["=x", "", "=", "A", "PATH"]},
                                     {"Env": ["LD_LIBRARY_PATH=" + ":".join(f"/l{n}" for n in range(100_000))]},
                                     {"Env": ["PYTHONPATH=" + ":".join(f"/l{n}" for n in range(100_000))]},
                                     {"Entrypoint": ["/bin/sh", "-c", "(" * 200_000]}, {"Entrypoint": ["/bin/sh", "-c", "$(" * 100_000]},
                                     {"Entrypoint": ["env"] * 100_000}, {"WorkingDir": "/" + "../" * 500_000}]):
        run = verify(image(tmp_path / str(number), *layers, config=config))
        assert run.code in (0, 1, 3) and run.megabytes < 150, (number, run)
