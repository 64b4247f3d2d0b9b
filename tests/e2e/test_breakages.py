"""A good image, broken by one further Dockerfile at a time: exactly the right rule speaks."""

import shutil

import bases as bases_module
import bed
import made
from conftest import BEAM, SOURCE

SDK = f"apache/beam_python3.11_sdk:{BEAM}: Debian 12, its Python 3.11, apache-beam from PyPI, a boot that does nothing"


def assert_only(result, rule, *words):
    assert result.code == 1, result
    assert result.subject["verdict"] == "fail"
    assert result.findings("error") == [rule], result
    (finding,) = [found for found in result.subject["findings"] if found["rule"] == rule]
    assert finding["fix"], finding
    assert finding["evidence"], finding
    for word in words:
        assert word in finding["message"], (word, finding)


def test_the_good_image_is_good(imgforge, good_image, say_stand_ins):
    say_stand_ins(SDK)
    result = imgforge.verify(good_image)
    assert result.code == 0, result
    assert result.subject["verdict"] == "pass", result


def test_boot_removed(imgforge, images, good_image, say_stand_ins):
    say_stand_ins(SDK)
    broken = images.build("boot-removed:1", f"FROM {good_image}\nRUN rm /opt/apache/beam/boot\n")
    assert_only(imgforge.verify(broken), "beam/boot-missing", "/opt/apache/beam/boot")


def test_wrong_entrypoint(imgforge, images, good_image, say_stand_ins):
    say_stand_ins(SDK)
    broken = images.build("wrong-entrypoint:1", f'FROM {good_image}\nENTRYPOINT ["bash"]\n')
    assert_only(imgforge.verify(broken), "beam/entrypoint", "bash")


def test_boot_of_another_sdk(imgforge, images, good_image, say_stand_ins):
    say_stand_ins(SDK, "/opt/apache/beam of 2.59.0: made by hand")
    broken = images.build("other-sdk:1", f"FROM {good_image}\nCOPY beam /opt/apache/beam\n",
                          {"beam": lambda path: bases_module.make_beam_folder(path, "2.59.0")})
    assert_only(imgforge.verify(broken), "beam/sdk-version-mismatch", "2.59.0", BEAM)


def test_no_ensurepip(imgforge, images, good_image, say_stand_ins):
    say_stand_ins(SDK)
    broken = images.build("no-venv:1", f"FROM {good_image}\nRUN apt-get purge -y python3-venv python3.11-venv\n")
    assert_only(imgforge.verify(broken), "beam/venv-unavailable", "3.11")


def test_another_python_first_on_path(imgforge, images, good_image, say_stand_ins):
    say_stand_ins(SDK, "Python 3.10: the image's Python 3.11 under that name, with its packages")
    # A prefix of its own with everything a worker needs, so that the minor is the only thing that is wrong.
    broken = images.build("other-python:1", f"""\
FROM {good_image}
RUN set -eu; mkdir -p /opt/other/bin /opt/other/lib /opt/other/include/python3.10; \\
    cp /usr/bin/python3.11 /opt/other/bin/python3.10; \\
    ln -s python3.10 /opt/other/bin/python; ln -s python3.10 /opt/other/bin/python3; \\
    cp -a /usr/lib/python3.11 /opt/other/lib/python3.10; \\
    mkdir -p /opt/other/lib/python3.10/site-packages /opt/other/lib/python3.10/ensurepip/_bundled; \\
    cp -a /usr/share/python-wheels/*.whl /opt/other/lib/python3.10/ensurepip/_bundled; \\
    cp -a /usr/lib/python3/dist-packages/pip* /usr/local/lib/python3.11/dist-packages/. \\
        /opt/other/lib/python3.10/site-packages; \\
    find /opt/other -name '*.so' -exec sh -c 'for f; do mv "$f" "$(echo "$f" | sed s/cpython-311/cpython-310/)"; done' _ {{}} +; \\
    printf '#define PY_VERSION "3.10.12"\\n' > /opt/other/include/python3.10/patchlevel.h
ENV PATH=/opt/other/bin:/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
""")
    assert_only(imgforge.verify(broken), "python/minor-mismatch", "3.10", "3.11")


def test_pip_moved_under_an_old_beam(imgforge, images, say_stand_ins):
    say_stand_ins("Python 3.8 and Beam 2.28: files made by hand, nothing in them runs")
    with bed.temporary_folder() as context:
        made.make_worker(context, "3.8.10", "2.28.0")
        files = {"root": lambda path: shutil.copytree(context / "root", path, symlinks=True)}
        good = images.build("old-beam:1", made.WORKER_DOCKERFILE, files)
        assert imgforge.verify(good).code == 0
        (context / "root/usr/local/bin/pip").rename(context / "root/usr/bin/pip")
        broken = images.build("old-beam-pip-moved:1", made.WORKER_DOCKERFILE, files)
    assert_only(imgforge.verify(broken), "beam/pip-location", "/usr/local/bin/pip", "/usr/bin/pip")


def test_ngc_image_of_its_day(imgforge, images, say_stand_ins):
    """The recipe dataflow-gpu-ngc-tensorflow, as an image: Python 3.6 and Beam 2.26, which Debian has not."""
    say_stand_ins("Python 3.6 and Beam 2.26: files made by hand, nothing in them runs")
    with bed.temporary_folder() as context:
        made.make_worker(context, "3.6.10", "2.26.0")
        for name in ("ipython", "pandas", "pytest"):
            made.add_distribution(context, "3.6", name, "1.0")
        (context / "root/workspace/tf_beam").mkdir(parents=True)
        files = {"root": lambda path: shutil.copytree(context / "root", path, symlinks=True)}
        worker = made.WORKER_DOCKERFILE + "WORKDIR /workspace/tf_beam\n"
        good = images.build("ngc:1", worker + "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64\n", files)
        no_driver = images.build("ngc-no-driver:1", worker, files)
    assert_only(imgforge.verify(no_driver, "--recipe", SOURCE / "recipes/dataflow-gpu-ngc-tensorflow.yaml"),
                "cuda/driver-path-missing", "/usr/local/nvidia/lib64")
    recipe = SOURCE / "recipes/dataflow-gpu-ngc-tensorflow.yaml"
    result = imgforge.verify(good, "--recipe", recipe)
    assert result.code == 0, result
    assert "python/minor-mismatch" in result.subject["passed"], result
