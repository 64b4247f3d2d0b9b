"""A recipe becomes a Dockerfile, the Dockerfile an image, and the image passes, wherever it is read from.

Rendered files are built unchanged. Frameworks are left out of the recipes (GBs of wheels), and where PYPI is not said,
apache-beam comes without extras from wheels that were downloaded from PyPI once.
"""

import re

import pytest

import bases as bases_module
import bed
import stand_ins as stand_ins_module
from conftest import BEAM, SOURCE

NO_FRAMEWORK = ["--set", "frameworks=null"]
NO_EXTRAS = ["--set", "beam.extras=[]"]
ONE_BEAM = ["--set", f"beam.version={BEAM}", "--set", f"target.launch.beam={BEAM}"]
PYPI = object()

CUDNN = "cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz"

# recipe → what is changed by --set; PYPI: everything that pip installs comes from PyPI, as the recipe says it.
RECIPES = {
    "dataflow-gpu-deadsnakes": [PYPI, *NO_FRAMEWORK],
    "dataflow-gpu-tensorflow-image": [*NO_FRAMEWORK, *NO_EXTRAS, *ONE_BEAM],
    "dataflow-gpu-conda": [*NO_FRAMEWORK, *NO_EXTRAS, *ONE_BEAM],
    "dataflow-gpu-beam-image": [
        *NO_FRAMEWORK, *NO_EXTRAS, *ONE_BEAM, "--set", f"base.image=docker.io/apache/beam_python3.11_sdk:{BEAM}"],
    "dataflow-gpu-wheels": [*NO_FRAMEWORK, *NO_EXTRAS, *ONE_BEAM],
    "dataflow-tpu-jax": [*NO_FRAMEWORK, *NO_EXTRAS, *ONE_BEAM],
}

LEFT_OUT = {"dataflow-tpu-jax": ["tpu/libtpu-missing"]}  # jax[tpu] with its libtpu: half a gigabyte


def images_named_by(dockerfile):
    """The images that FROM lines lead to, by way of the defaults of ARGs before the first FROM."""
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", dockerfile.split("\nFROM ")[0], re.MULTILINE))
    stages = set(re.findall(r"^FROM .* AS (\S+)$", dockerfile, re.MULTILINE))
    named = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    named = [re.sub(r"\$\{(\w+)\}", lambda word: defaults[word[1]].strip('"'), name) for name in named]
    return sorted({name for name in named if name not in stages})


def comparable(facts):
    """Facts without their evidence: the layers of an archive have other digests than those of a registry."""
    if isinstance(facts, dict):
        return {name: comparable(value) for name, value in facts.items() if name not in ("evidence", "layer")}
    return [comparable(value) for value in facts] if isinstance(facts, list) else facts


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_to_verdict(name, imgforge, bases, registry, stand_ins, say_stand_ins, tmp_path):
    changes = [word for word in RECIPES[name] if word is not PYPI]
    from_pypi = PYPI in RECIPES[name]
    rendered = imgforge("render", SOURCE / "recipes" / f"{name}.yaml", *changes, "-o", tmp_path / "Dockerfile")
    assert rendered.code == 0, rendered
    dockerfile = (tmp_path / "Dockerfile").read_text()

    already = len(bases.used)
    for image in images_named_by(dockerfile):
        bases.provide(image)
    build_args, stand_in_names = stand_ins.build_args(dockerfile)
    if CUDNN in dockerfile:
        stand_ins_module.make_cudnn_archive(tmp_path / CUDNN)
        build_args["CUDNN_ARCHIVE_SHA256"] = stand_ins_module.sha256(tmp_path / CUDNN)
        stand_in_names.append("cuDNN archive: its folders with nothing in them")
    say_stand_ins(*bases.used[already:], *stand_in_names, "frameworks: left out",
                  *([] if from_pypi else ["apache-beam: from wheels of an earlier download from PyPI, no extras"]))

    tag = f"{registry.host}/{bases_module.PRODUCTS}/{name}:1"
    bases.builder.build(tmp_path, tag, build_args=build_args, volumes=None if from_pypi else bases.wheel_volumes(BEAM))
    bases.builder.push(tag, f"docker://{tag}")

    pushed = imgforge.verify(f"docker://{tag}")
    # What was left out of the image is missed, and nothing else is.
    missed = LEFT_OUT.get(name, [])
    assert [found["rule"] for found in pushed.subject["findings"] if found["level"] == "error"] == missed, pushed
    assert pushed.code == (1 if missed else 0), pushed
    assert pushed.subject["verdict"] == ("fail" if missed else "pass"), pushed
    assert pushed.subject["recipe"]["source"] == "label", "render's label is in the image, and verify holds to it"
    facts = pushed.subject["facts"]
    beam = {found["version"] for found in facts["distributions"] if found["name"] == "apache-beam"}
    assert beam == {re.search(r"apache-beam(?:\[gcp\])?==([\d.]+)", dockerfile)[1]}, beam

    for copy in (f"docker-archive:{tmp_path / 'image.tar'}", f"oci:{tmp_path / 'layout'}:1"):
        bed.copy_image(f"docker://{tag}", copy)
        read = imgforge.verify(copy)
        assert read.subject["verdict"] == pushed.subject["verdict"], read
        assert comparable(read.subject["facts"]) == comparable(facts), copy
