"""What the end-to-end tests share. One registry of bases and one builder a session; nothing outlives it."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

import bases as bases_module
import bed
import stand_ins as stand_ins_module

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def pytest_configure():
    """A polite kill ends as Ctrl-C does: fixtures clean up behind themselves."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


class Result:
    """How a run of imgforge ended."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def report(self):
        return json.loads(self.out)

    @property
    def subject(self):
        (subject,) = self.report["subjects"]
        return subject

    def findings(self, level="error"):
        return [finding["rule"] for finding in self.subject["findings"] if finding["level"] == level]

    def __repr__(self):
        return f"exit code {self.code}\n{self.out}\n{self.err}"


class Imgforge:
    """The binary under test (IMGFORGE in the environment)."""

    def __init__(self, binary):
        self.binary = binary

    def __call__(self, *arguments, environment=None, cwd=None):
        # A config of the machine's owner must not decide a test.
        variables = {name: value for name, value in os.environ.items()
                     if name not in ("DOCKER_AUTH_CONFIG", "REGISTRY_AUTH_FILE", "XDG_CONFIG_HOME", "SSL_CERT_FILE",
                                     "SSL_CERT_DIR", "CURL_CA_BUNDLE")}
        # What an earlier run learned of a layer must not, either.
        variables["DOCKER_CONFIG"] = variables["XDG_RUNTIME_DIR"] = variables["XDG_CACHE_HOME"] = "/nonexistent"
        variables.update(environment or {})
        done = subprocess.run([self.binary, *map(str, arguments)], env=variables, cwd=cwd, text=True,
                              capture_output=True, timeout=120, errors="surrogateescape")
        return Result(done)

    def verify(self, image, *options, environment=None):
        return self("verify", "--format", "json", *options, image, environment=environment)


@pytest.fixture(scope="session")
def imgforge():
    binary = os.environ.get("IMGFORGE")
    assert binary and os.access(binary, os.X_OK), "IMGFORGE must name the binary under test"
    return Imgforge(binary)


@pytest.fixture(scope="session")
def bases():
    with bases_module.bases() as made:
        yield made


@pytest.fixture(scope="session")
def registry(bases):
    """An anonymous registry, of the bases and of what the tests build: layers of bases are not uploaded again."""
    return bases.mirror


@pytest.fixture(scope="module")
def certificates():
    """An authority of this run, and what it signed for localhost."""
    with bed.temporary_folder() as folder:
        yield bed.Certificates(folder)


@pytest.fixture(scope="session")
def stand_ins():
    with stand_ins_module.stand_ins() as running:
        yield running


class Images:
    """Images for tests about images: built once a session, in the registry and by name."""

    def __init__(self, bases, registry):
        self.bases, self.builder, self.registry = bases, bases.builder, registry

    def build(self, name, dockerfile, files=None, build_args=None, volumes=None):
        """Builds a Dockerfile's text, pushes, and answers the reference. `files` maps names to bytes or a filler."""
        with bed.temporary_folder() as context:
            (context / "Dockerfile").write_text(dockerfile)
            for path, content in (files or {}).items():
                if callable(content):
                    content(context / path)
                else:
                    (context / path).parent.mkdir(parents=True, exist_ok=True)
                    (context / path).write_bytes(content)
            tag = f"{self.registry.host}/{bases_module.PRODUCTS}/{name}"
            self.builder.build(context, tag, build_args=build_args, volumes=volumes)
            self.builder.push(tag, f"docker://{tag}")
            return tag


@pytest.fixture(scope="session")
def images(bases, registry):
    return Images(bases, registry)


# What the recipes for Python 3.11 name; stand-ins are made of one release, so that its wheels are downloaded once.
BEAM = "2.60.0"


@pytest.fixture(scope="session")
def good_image(images):
    """A worker image that keeps the contract; the one that breakages start from."""
    sdk = images.bases.provide(f"docker.io/apache/beam_python3.11_sdk:{BEAM}")
    recipe = {"apiVersion": "imgforge/v1", "name": "good", "target": {"runner": "dataflow"},
              "python": {"version": "3.11"}, "beam": {"version": BEAM}}
    label = json.dumps(json.dumps(recipe, separators=(",", ":")))
    return images.build("good:1", f"FROM {sdk}\nLABEL dev.imgforge.recipe={label}\n")


@pytest.fixture
def say_stand_ins(request):
    """Prints what stood in for what, past pytest's capture: it belongs into the log of a test that passes, too."""

    def say(*stand_ins):
        capture = request.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(f"\n{request.node.name}: stand-ins:")
            for stand_in in stand_ins or ("none",):
                print(f"  {stand_in}")

    return say
