"""One image in every place that images come from, put there by the tools that people use: the verdict and the digests
are the same everywhere."""

import contextlib
import json
import os
import shutil
import subprocess
import time

import pytest

import bed
import made

STAND_IN = "a small image made by hand, with nothing in it that runs"
NAME = "localhost/worker"
DAEMON_START_SECONDS = 20


@pytest.fixture(autouse=True)
def say(say_stand_ins):
    say_stand_ins(STAND_IN)


class Storage:
    """buildah's storage, vfs so that it works everywhere, in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        self.where = f"[vfs@{folder}/root+{folder}/runroot]"

    def build(self, context, tag):
        bed.run(["buildah", "--root", self.folder / "root", "--runroot", self.folder / "runroot", "--storage-driver",
                 "vfs", "bud", "--isolation", "chroot", "--layers", "--format", "oci", "--signature-policy",
                 self.folder / "policy.json", "-t", tag, context], env=os.environ | {"TMPDIR": str(self.folder)})

    def name(self, tag):
        return f"containers-storage:{self.where}{tag}"


@pytest.fixture(scope="module")
def places():
    """A good image (worker:good) and one without boot (worker:bad), in a storage; gives the storage and its folder."""
    with bed.temporary_folder() as folder:
        storage = Storage(folder)
        context = folder / "context"
        context.mkdir()
        made.make_worker(context, "3.11.9", "2.60.0")
        (context / "Dockerfile").write_text(made.WORKER_DOCKERFILE + "COPY root/etc/group /etc/group\n")
        storage.build(context, f"{NAME}:good")
        (context / "root/opt/apache/beam/boot").unlink()
        storage.build(context, f"{NAME}:bad")
        yield storage


@pytest.fixture(scope="module")
def told(imgforge, places):
    """What imgforge says of both images in an OCI layout: the measure for all other places."""
    told = {}
    for tag in ("good", "bad"):
        bed.copy_image(places.name(f"{NAME}:{tag}"), f"oci:{places.folder}/layout:{tag}")
        layout = f"oci:{places.folder}/layout:{tag}"
        result = imgforge.verify(layout, "--no-cache")
        told[tag] = (result.code, result.subject["verdict"], result.findings(), config_digest(imgforge, layout))
    assert told["good"][:2] == (0, "pass"), told
    assert told["bad"][:2] == (1, "fail"), told
    assert "beam/boot-missing" in told["bad"][2], told
    return told


def config_digest(imgforge, image, environment=None):
    result = imgforge("inspect", "--format", "json", "--no-cache", image, environment=environment)
    assert result.code == 0, result
    return result.report["config_digest"]


def same(imgforge, told, tag, image, *options, environment=None):
    """Verifies an image, holds the answer against what is told of it, and gives the subject."""
    result = imgforge.verify(image, "--no-cache", *options, environment=environment)
    code, verdict, findings, digest = told[tag]
    assert (result.code, result.subject["verdict"], result.findings()) == (code, verdict, findings), (image, result)
    assert config_digest(imgforge, image, environment) == digest, image
    return result.subject


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compressed_layout(compression, imgforge, places, told, tmp_path):
    for tag in ("good", "bad"):
        bed.copy_image(places.name(f"{NAME}:{tag}"), f"oci:{tmp_path}/layout:{tag}", "--format", "oci",
                       "--dest-compress-format", compression)
        result = imgforge.verify(f"oci:{tmp_path}/layout:{tag}", "--no-cache")
        assert (result.code, result.findings()) == (told[tag][0], told[tag][2]), result
    index = json.loads((tmp_path / "layout/index.json").read_text())
    digest = index["manifests"][0]["digest"].split(":")[1]
    manifest = json.loads((tmp_path / "layout/blobs/sha256" / digest).read_text())
    assert all(layer["mediaType"].endswith(compression) for layer in manifest["layers"]), manifest
    bed.run(["tar", "-C", tmp_path / "layout", "-cf", tmp_path / "layout.tar", "."])
    assert imgforge.verify(f"oci-archive:{tmp_path}/layout.tar:good").subject["verdict"] == "pass"


def test_layout_that_umoci_wrote(imgforge, places, told, tmp_path):
    shutil.copytree(places.folder / "layout", tmp_path / "layout")
    bed.run(["umoci", "config", "--image", f"{tmp_path}/layout:good", "--tag", "labelled", "--config.label", "a=b"])
    result = imgforge.verify(f"{tmp_path}/layout:labelled")
    assert (result.code, result.subject["verdict"]) == (0, "pass"), result
    assert config_digest(imgforge, f"oci:{tmp_path}/layout:labelled") != told["good"][3]


def test_dir(imgforge, places, told, tmp_path):
    for tag in ("good", "bad"):
        bed.copy_image(places.name(f"{NAME}:{tag}"), f"dir:{tmp_path}/{tag}")
        subject = same(imgforge, told, tag, f"dir:{tmp_path}/{tag}")
        assert same(imgforge, told, tag, f"{tmp_path}/{tag}")["digest"] == subject["digest"]
        assert subject["digest"].endswith(bed.run(["sha256sum", tmp_path / tag / "manifest.json"]).split()[0])


@pytest.fixture(scope="module")
def archives(places):
    """Two docker-archives by skopeo."""
    for tag in ("good", "bad"):
        bed.copy_image(places.name(f"{NAME}:{tag}"), f"docker-archive:{places.folder}/{tag}.tar:{NAME}:{tag}")
    return places.folder


def test_docker_archive_of_skopeo(imgforge, archives, told):
    for tag in ("good", "bad"):
        same(imgforge, told, tag, f"docker-archive:{archives}/{tag}.tar")
        same(imgforge, told, tag, f"{archives}/{tag}.tar:{NAME}:{tag}")


def test_standard_input(imgforge, archives, told):
    for tag in ("good", "bad"):
        with subprocess.Popen(["cat", f"{archives}/{tag}.tar"], stdout=subprocess.PIPE) as writer:
            done = subprocess.run([imgforge.binary, "verify", "--format", "json", "docker-archive:-"],
                                  stdin=writer.stdout, capture_output=True, text=True, timeout=60)
        assert writer.returncode == 0, "the writer could write all of it"
        (subject,) = json.loads(done.stdout)["subjects"]
        assert (done.returncode, subject["verdict"]) == told[tag][:2], done
        assert subject["digest"] == told[tag][3], done
        assert subject["platform"] == "linux/amd64", done


def test_containers_storage(imgforge, places, told):
    for tag in ("good", "bad"):
        subject = same(imgforge, told, tag, places.name(f"{NAME}:{tag}"))
        raw = subprocess.run(["skopeo", "inspect", "--raw", places.name(f"{NAME}:{tag}")], capture_output=True, check=True)
        digest = subprocess.run(["sha256sum"], input=raw.stdout, capture_output=True, check=True).stdout.split()[0]
        assert subject["digest"] == f"sha256:{digest.decode()}"
    missing = imgforge.verify(places.name("localhost/none:1"))
    assert missing.code == 3, missing
    assert missing.subject["error"]["kind"] == "not-found", missing


def test_containers_storage_without_its_tool(imgforge):
    result = imgforge.verify("containers-storage:localhost/x", environment={"PATH": "/nonexistent"})
    assert result.code == 3, result
    assert "skopeo" in result.err and "podman save" in result.err, result


@contextlib.contextmanager
def docker_daemon(folder):
    """A real dockerd without networks; gives the environment that leads to it."""
    if not shutil.which("dockerd"):
        pytest.skip("there is no dockerd (package docker.io)")
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["dockerd", "--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "pid",
             "-H", f"unix://{folder}/socket", "--storage-driver", "vfs", "--iptables=false", "--ip6tables=false",
             "--bridge=none"], stdout=output, stderr=subprocess.STDOUT, preexec_fn=bed._end_with_parent)
    try:
        deadline = time.monotonic() + DAEMON_START_SECONDS
        environment = {"DOCKER_HOST": f"unix://{folder}/socket", "DOCKER_CONFIG": str(folder)}
        while subprocess.run(["docker", "version"], env=os.environ | environment, capture_output=True).returncode != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text()[-1500:]
                pytest.skip(f"dockerd does not start here: {said}")
            time.sleep(0.1)
        yield environment
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def daemon(archives):
    with bed.temporary_folder() as folder, docker_daemon(folder) as environment:
        for tag in ("good", "bad"):
            bed.run(["docker", "load", "-i", archives / f"{tag}.tar"], env=os.environ | environment)
        yield environment


def test_docker_daemon(imgforge, daemon, told):
    for tag in ("good", "bad"):
        subject = same(imgforge, told, tag, f"docker-daemon:{NAME}:{tag}", environment=daemon)
        assert subject["digest"] == told[tag][3], "the daemon's id is the config's digest"
        same(imgforge, told, tag, f"docker-daemon:{told[tag][3]}", environment=daemon)
    missing = imgforge.verify("docker-daemon:none:1", environment=daemon)
    assert missing.code == 3, missing
    assert missing.subject["error"]["kind"] == "not-found", missing


def test_docker_save(imgforge, daemon, told, tmp_path):
    """The daemon's own archive, of one image and of both."""
    environment = os.environ | daemon
    both = tmp_path / "both.tar"
    bed.run(["docker", "save", "-o", both, f"{NAME}:good", f"{NAME}:bad"], env=environment)
    result = imgforge.verify(f"docker-archive:{both}")
    assert result.code == 3 and f"{NAME}:good" in result.err, result
    places = {}
    for place in (0, 1):
        name = f"docker-archive:{both}:@{place}"
        places[config_digest(imgforge, name)] = name
    for tag in ("good", "bad"):
        same(imgforge, told, tag, f"{both}:{NAME}:{tag}")
        same(imgforge, told, tag, places[told[tag][3]])
        with subprocess.Popen(["docker", "save", f"{NAME}:{tag}"], env=environment, stdout=subprocess.PIPE) as save:
            done = subprocess.run([imgforge.binary, "verify", "docker-archive:-"], stdin=save.stdout,
                                  capture_output=True, text=True, timeout=60)
        assert (done.returncode, save.returncode) == (told[tag][0], 0), done


def test_daemon_that_is_not_there(imgforge, tmp_path):
    result = imgforge.verify("docker-daemon:x:1", environment={"DOCKER_HOST": f"unix://{tmp_path}/none"})
    assert result.code == 3, result
    assert f"{tmp_path}/none" in result.err and "docker save" in result.err, result


def test_all_platforms(imgforge, places, told, tmp_path):
    """An index made of two images; each is a subject of its own."""
    layout = tmp_path / "layout"
    shutil.copytree(places.folder / "layout", layout)
    index = json.loads((layout / "index.json").read_text())
    for entry, architecture in zip(index["manifests"], ("amd64", "arm64")):
        entry["platform"] = {"os": "linux", "architecture": architecture}
        del entry["annotations"]
    (layout / "index.json").write_text(json.dumps(index))
    result = imgforge.verify(f"oci:{layout}", "--all-platforms")
    names = [subject["name"] for subject in result.report["subjects"]]
    assert names == [f"oci:{layout} (linux/amd64)", f"oci:{layout} (linux/arm64)"], result
    assert [subject["verdict"] for subject in result.report["subjects"]] == ["pass", "fail"], result
    assert result.code == 1, result
    one = imgforge.verify(f"oci:{places.folder}/layout:good", "--all-platforms")
    assert one.subject["name"] == f"oci:{places.folder}/layout:good", one
    assert imgforge.verify(f"oci:{layout}", "--all-platforms", "--platform", "linux/amd64").code == 2
