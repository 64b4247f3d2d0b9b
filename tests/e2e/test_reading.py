"""How much is read, and what is kept between runs. What happens when connections break: test_faults.py."""

import json
import time

import pytest

import bed
import made

STAND_IN = "a small image made by hand, with nothing in it that runs"


@pytest.fixture(scope="module")
def worker(images):
    """Repository and tag of a small image that keeps the contract, and a folder that copies of it go to."""
    with bed.temporary_folder() as context:
        made.make_worker(context, "3.11.9", "2.60.0")
        tag = f"{images.registry.host}/run/reading:1"
        (context / "Dockerfile").write_text(made.WORKER_DOCKERFILE)
        images.builder.build(context, tag)
        images.builder.push(tag, f"docker://{tag}")
    return "run/reading:1"


@pytest.fixture(scope="module")
def copies(images, worker):
    with bed.temporary_folder() as folder:
        copy = ["skopeo", "--insecure-policy", "copy", "-q"]
        bed.run([*copy, "--src-tls-verify=false", f"docker://{images.registry.host}/{worker}", f"oci:{folder}/gzip:1"])
        bed.run([*copy, "--dest-compress-format", "zstd:chunked", f"oci:{folder}/gzip:1", f"oci:{folder}/chunked:1"])
        time.sleep(2.5)  # what changed a moment ago is not kept
        yield folder


@pytest.fixture(autouse=True)
def say(say_stand_ins):
    say_stand_ins(STAND_IN)


def cost(result):
    return result.subject["cost"]


def test_what_was_read_once_is_known(imgforge, registry, worker, copies, tmp_path):
    for source in (f"{registry.host}/{worker}", f"oci:{copies}/gzip:1"):
        first = imgforge.verify(source, "--cache", tmp_path / "cache")
        second = imgforge.verify(source, "--cache", tmp_path / "cache")
        assert first.code == second.code == 0, first
        assert cost(second)["layers_read"] == 0, second
        assert cost(second)["layers_cached"] == cost(second)["layers_total"], second
        assert first.subject["findings"] == second.subject["findings"]
        assert first.subject["passed"] == second.subject["passed"]
        assert first.subject["facts"] == second.subject["facts"]


def test_a_damaged_cache_is_no_cache(imgforge, copies, tmp_path):
    cache = tmp_path / "cache"
    first = imgforge.verify(f"oci:{copies}/gzip:1", "--cache", cache)
    kept = [path for path in cache.rglob("*") if path.is_file()]
    assert kept
    for number, path in enumerate(kept):
        content = bytearray(path.read_bytes())
        if number % 2:
            content = content[: len(content) // 2]
        else:
            content[20] ^= 0x20
        path.write_bytes(content)
    again = imgforge.verify(f"oci:{copies}/gzip:1", "--cache", cache)
    assert again.code == 0 and cost(again)["layers_cached"] == 0, again
    assert again.subject["facts"] == first.subject["facts"]
    assert cost(imgforge.verify(f"oci:{copies}/gzip:1", "--cache", cache))["layers_read"] == 0


def test_a_changed_file_is_read_anew(imgforge, copies, tmp_path):
    layout = tmp_path / "layout"
    bed.run(["cp", "-a", f"{copies}/gzip", layout])
    cache = tmp_path / "cache"
    time.sleep(2.5)
    assert imgforge.verify(f"oci:{layout}:1", "--cache", cache).code == 0
    blob = max((layout / "blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(blob.read_bytes())
    content[-20] ^= 1
    blob.write_bytes(content)
    result = imgforge.verify(f"oci:{layout}:1", "--cache", cache)
    assert result.code == 3, result
    assert "digest" in result.subject["error"]["message"]


def test_tables_of_contents(imgforge, copies):
    whole = imgforge.verify(f"oci:{copies}/gzip:1")
    by_table = imgforge.verify(f"oci:{copies}/chunked:1")
    full = imgforge.verify(f"oci:{copies}/chunked:1", "--assurance", "full")
    assert by_table.code == full.code == 0, by_table
    assert (whole.subject["assurance"], by_table.subject["assurance"], full.subject["assurance"]) == ("digest", "toc", "full")
    assert by_table.subject["passed"] == whole.subject["passed"] == full.subject["passed"]


def test_depth_contract(imgforge, registry, worker):
    result = imgforge.verify(f"{registry.host}/{worker}", "--depth", "contract")
    assert result.code == 0, result
    assert result.subject["depth"] == "contract"
    assert "beam/not-installed" in result.subject["not_asked"]
    assert "beam/boot-missing" in result.subject["passed"]
    alone = imgforge.verify(f"{registry.host}/{worker}", "--depth", "contract", "--select", "beam/boot-missing")
    assert alone.subject["passed"] == ["beam/boot-missing"]
    unknown = imgforge("verify", "--select", "beam/boot-mising", f"{registry.host}/{worker}")
    assert unknown.code == 2 and "did you mean beam/boot-missing" in unknown.err


def test_cache_info_and_prune(imgforge, registry, worker, tmp_path):
    cache = tmp_path / "cache"
    imgforge.verify(f"{registry.host}/{worker}", "--cache", cache)
    info = json.loads(imgforge("cache", "info", "--cache", cache, "--format", "json").out)
    assert info["layers"] > 0 and info["bytes"] > 0, info
    assert imgforge("cache", "prune", "--max", "0", "--cache", cache).code == 0
    assert json.loads(imgforge("cache", "info", "--cache", cache, "--format", "json").out)["layers"] == 0
