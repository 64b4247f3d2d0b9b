"""The merged root that imgforge sees is the one that others unpack: umoci unpack, and buildah's mount of its storage.

Compared are path, type, size, mode, owner and link. Where the two differ from each other, or both from the image
specification, the difference is listed, and imgforge follows the specification.
"""

import base64
import json
import os
import stat

import pytest

import bed
import hostile
from hostile import Layer, file, folder, hardlink, header, image, long_file, symlink, tar

TYPES = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo",
         stat.S_IFCHR: "character device", stat.S_IFBLK: "block device"}


def whiteout(path):
    where, name = os.path.split(path)
    return file(os.path.join(where, ".wh." + name))


def opaque(path):
    return file(f"{path}/.wh..wh..opq")


def packed(*members):
    return Layer.packed(tar(*members))


def many(count, prefix):
    return [file(f"{prefix}/{n % 7}/{n}", b"x" * n) for n in range(count)]


# name → layers, the lowest first.
IMAGES = {
    "plain": [[folder("etc/"), file("etc/a", b"one"), file("etc/run", b"#!", 0o4755), folder("tmp/", 0o1777),
               symlink("etc/l", "a"), symlink("etc/out", "/etc/a"), symlink("etc/broken", "../nowhere"),
               header("etc/owned", uid=1000), header("etc/pipe", b"6")]],
    "replaced": [[folder("a/"), file("a/x", b"1"), file("b", b"2"), symlink("c", "a"), folder("d/", 0o700)],
                 [file("a", b"now a file"), folder("b/"), file("b/y", b"3"), file("c", b"no link"), folder("d/", 0o755)]],
    "whiteouts": [[*many(40, "w"), folder("gone/"), file("gone/x"), file("kept/x"), file("kept/y")],
                  [whiteout("gone"), whiteout("kept/x"), whiteout("w/3")],
                  [file("w/3/new", b"again"), whiteout("never-there")]],
    "opaque": [[*many(40, "o"), file("o/deep/er/x")], [opaque("o"), file("o/only", b"this")],
               [file("o/deep/y"), opaque("o/deep")]],
    "opaque after what it holds": [[file("o/old"), file("o/s/old")], [file("o/new"), file("o/s/new"), opaque("o")]],
    "hard links": [[file("a/one", b"12345"), hardlink("a/two", "a/one"), file("b", b"old"), hardlink("c", "b")],
                   [file("b", b"newer")], [hardlink("d", "a/one"), whiteout("a/one")]],
    "folders over links": [[folder("real/"), file("real/x"), symlink("link", "real"), symlink("far", "/real")],
                           [folder("link/", 0o750), file("link/own", b"2")]],
    "twice in one layer": [[file("a", b"first"), file("a", b"second, longer"), folder("b/", 0o700), folder("b/", 0o755)]],
    "names": [[file("./dot", b"1"), file("././two", b"2"), folder("./sub/"), file("sub//x", b"3"), file("caf\u00e9", b"4"),
               long_file("/".join(["p" * 60] * 4), b"5"), file(b"bytes-\xff", b"6")]],
    "many layers": [[file(f"n/{number % 13}", b"x" * number), *([whiteout(f"n/{number % 11}")] if number % 3 == 0 else [])]
                    for number in range(60)],
    "a whiteout beside its own file": [[file("a", b"old"), file("d/x", b"old")], [whiteout("a"), file("a", b"new"), file("d/x", b"new"), whiteout("d/x")]],
}

# What buildah gives otherwise: image → paths that it has lost, and why imgforge has them. umoci nowhere differs.
BUILDAH_LOSES = {
    # image-spec 1.1, layer.md, "Opaque Whiteout": it hides what is below, also where it stands behind its siblings.
    # containers/storage takes away folders that its own layer had put there before it.
    "opaque after what it holds": {b"/o/s", b"/o/s/new"},
    # "Whiteouts": they apply to lower layers only. containers/storage deletes what its own layer had put there.
    "a whiteout beside its own file": {b"/d/x"},
}
# The specification is silent: the later entry holds, as for tar(1) and umoci; containers/storage does not take it.
BUILDAH_REFUSES = {"twice in one layer": "duplicates of file paths not supported"}


def state_of(root):
    """Path → (type, size of a file, mode, owner, link) of what lies below a folder of this machine."""
    found = {}
    root = os.fsencode(root)
    for where, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(where, name)
            status = os.lstat(path)
            kind = TYPES[stat.S_IFMT(status.st_mode)]
            found[path[len(root):]] = (
                kind, status.st_size if kind == "file" else 0, None if kind == "symlink" else stat.S_IMODE(status.st_mode),
                (status.st_uid, status.st_gid), os.readlink(path) if kind == "symlink" else None)
    return found


def seen(imgforge, name):
    """The same of the image, as imgforge sees it."""
    def raw(item, key):
        return base64.b64decode(item[key + "_base64"]) if key + "_base64" in item else os.fsencode(item[key])

    run = imgforge("inspect", "--tree", "--format", "json", "--no-cache", name)
    assert run.code == 0, run
    found = {}
    for item in json.loads(run.out):
        if item["path"] == "/":
            continue
        kind = item["type"]
        found[raw(item, "path")] = (
            kind, item["size"] if kind == "file" else 0, None if kind == "symlink" else item["mode"],
            (item["uid"], item["gid"]), raw(item, "link") if kind == "symlink" else None)
    return found


def differences(ours, theirs):
    return {path: (ours.get(path), theirs.get(path)) for path in ours.keys() | theirs.keys()
            if ours.get(path) != theirs.get(path)}


def unpacked_by_umoci(layout, tmp_path):
    bed.run(["umoci", "unpack", "--image", f"{layout}:image", tmp_path / "bundle"])
    return state_of(tmp_path / "bundle/rootfs")


@pytest.fixture(scope="module")
def buildah():
    with bed.temporary_folder() as storage:
        made = bed.Builder(storage / "buildah", None)
        # vfs applies each layer to a copy of the one below. overlay takes less: no entry twice in a layer, no hard link
        # to a file of a lower one.
        made.storage[-1] = "vfs"
        yield made
        made.close(False)


def mounted_by_buildah(buildah, layout):
    container = buildah.buildah("from", "--signature-policy", buildah.folder / "policy.json",
                                f"oci:{layout}:image").strip()
    try:
        return state_of(buildah.buildah("mount", container).strip())
    finally:
        buildah.buildah("rm", container)


def tagged(layout):
    """The tag by which umoci and buildah find the one image of a layout."""
    index = json.loads((layout / "index.json").read_text())
    index["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": "image"}
    (layout / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("name", IMAGES)
def test_odd_images(name, imgforge, buildah, tmp_path):
    layout = tmp_path / "layout"
    image(layout, *(packed(*members) for members in IMAGES[name]))
    tagged(layout)
    ours = seen(imgforge, f"oci:{layout}")
    assert ours
    assert differences(ours, unpacked_by_umoci(layout, tmp_path)) == {}
    if name in BUILDAH_REFUSES:
        with pytest.raises(RuntimeError, match=BUILDAH_REFUSES[name]):
            mounted_by_buildah(buildah, layout)
        return
    lost = {path: (ours[path], None) for path in BUILDAH_LOSES.get(name, ())}
    assert differences(ours, mounted_by_buildah(buildah, layout)) == lost


def test_an_image_of_buildah_and_its_copies(imgforge, buildah, tmp_path):
    """Layers as buildah commits them: changes of modes and owners, deletions, folders emptied and filled again."""
    def layer(base, change, tag):
        container = buildah.buildah("from", "--pull-never", base).strip()
        change(buildah.buildah("mount", container).strip())
        buildah.buildah("commit", "--signature-policy", buildah.folder / "policy.json", container, tag)
        buildah.buildah("rm", container)

    def first(root):
        for number in range(200):
            where = os.path.join(root, "usr/lib", str(number % 9))
            os.makedirs(where, exist_ok=True)
            with open(os.path.join(where, str(number)), "w") as stream:
                stream.write("x" * number)
        os.link(os.path.join(root, "usr/lib/1/1"), os.path.join(root, "hard"))
        os.symlink("usr/lib", os.path.join(root, "lib"))
        os.makedirs(os.path.join(root, "srv/data"))

    def second(root):
        for number in range(0, 200, 5):
            os.unlink(os.path.join(root, "usr/lib", str(number % 9), str(number)))
        os.chmod(os.path.join(root, "usr/lib/1"), 0o2750)
        os.chown(os.path.join(root, "usr/lib/2"), 12, 34)
        bed.run(["rm", "-r", os.path.join(root, "usr/lib/3")])
        os.rmdir(os.path.join(root, "srv/data"))
        os.symlink("/etc", os.path.join(root, "srv/data"))

    def third(root):
        os.makedirs(os.path.join(root, "usr/lib/3"))
        with open(os.path.join(root, "usr/lib/3/again"), "w") as stream:
            stream.write("again")
        os.unlink(os.path.join(root, "hard"))

    layer("scratch", first, "localhost/one")
    layer("localhost/one", second, "localhost/two")
    layer("localhost/two", third, "localhost/three")
    layout = tmp_path / "layout"
    buildah.push("localhost/three", f"oci:{layout}:image")
    ours = seen(imgforge, f"oci:{layout}")
    assert len(ours) > 150
    assert differences(ours, unpacked_by_umoci(layout, tmp_path)) == {}
    assert differences(ours, mounted_by_buildah(buildah, layout)) == {}
    for copy in (f"docker-archive:{tmp_path / 'image.tar'}", f"oci-archive:{tmp_path / 'oci.tar'}", f"dir:{tmp_path / 'dir'}"):
        bed.copy_image(f"oci:{layout}:image", copy)
        assert seen(imgforge, copy) == ours, copy
