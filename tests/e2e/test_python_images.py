"""What imgforge sees of Python in an image is what Python's own tools say: pip list, pip check, python -V.

Real pip and uv of PyPI make the environments. Requirements between packages are tried with wheels written here, whose
names and versions are all that counts; an image like Beam's SDK is made of apache-beam and its real dependencies.

Where imgforge and pip check differ, by intent:
- a wheel for another platform is "not supported on this platform" for pip check; imgforge looks into the files
  (python/abi-mismatch, image/architecture);
- what a marker asks of the kernel (platform_release) is undecided in an image, and known to pip where it runs.
"""

import os
import pathlib
import random
import shutil

import pytest

import bases
import bed
import python_trees as trees

BEAM = "2.66.0"
# From the SDK image of that release (its Python 3.11): what pipelines are pickled with.
BEAM_PINS = {"numpy": "2.2.6", "protobuf": "5.29.4", "dill": "0.3.1.1", "grpcio": "1.65.5", "pyarrow": "18.1.0"}

# One kind of requirement each: packages as (name, version, what they require), and what pip check finds by their names.
# Names begin with the kind, so that all of them lie in one environment.
KINDS = {
    "healthy": [("a", "1.0", ["{b}>=1", "{b}<3"]), ("b", "2.0", ["{a}"])],
    "missing": [("a", "1.0", ["{b}>=1"])],
    "too-old": [("a", "1.0", ["{b}>=2"]), ("b", "1.9.9", [])],
    "too-new": [("a", "1.0", ["{b}<2"]), ("b", "2.0.0", [])],
    "two-bounds": [("a", "1.0", ["{b}>=1,<2,!=1.5.*"]), ("b", "1.5.2", [])],
    "extra-not-asked": [("a", "1.0", ["{c} ; extra == 'fast'"]), ("b", "1.0", ["{a}"])],
    "extra-of-other": [("a", "1.0", ["{b}[fast]>=1"]), ("b", "1.0", ["{c} ; extra == 'fast'"])],
    "extra-old-version": [("a", "1.0", ["{b}>=2 ; extra == 'fast'"]), ("b", "1.0", [])],
    "marker-met": [("a", "1.0", ["{b} ; sys_platform == 'linux' and python_version >= '3.9'"])],
    "marker-not-met": [("a", "1.0", ["{b} ; python_version < '3.9'", "{c} ; platform_system == 'Windows' or os_name == 'nt'"])],
    "marker-full-version": [("a", "1.0", ["{b} ; python_full_version >= '3.11.1'", "{c} ; python_full_version < '3.11.0a7'"])],
    "marker-machine": [("a", "1.0", ["{b} ; platform_machine == 'x86_64' or platform_machine == 'aarch64'"])],
    "marker-implementation": [("a", "1.0", ["{b} ; implementation_name == 'pypy'", "{c} ; platform_python_implementation == 'CPython'"])],
    "marker-in": [("a", "1.0", ["{b} ; sys_platform in 'linux darwin'", "{c} ; 'win' not in sys_platform", "{d} ; 'win' in sys_platform"])],
    "marker-nested": [("a", "1.0", ["{b} ; (python_version < '3' or python_version > '3.10') and not_there == 'x'".replace(" and not_there == 'x'", ""),
                                    "{c} ; python_version > '3' and (os_name == 'nt' or sys_platform == 'win32')"])],
    "epoch-met": [("a", "1.0", ["{b}>=2.0"]), ("b", "1!1.0", [])],
    "epoch-not-met": [("a", "1.0", ["{b}<2.0"]), ("b", "1!1.0", [])],
    "pre-release-too-old": [("a", "1.0", ["{b}>=2.0"]), ("b", "2.0rc1", [])],
    "pre-release-not-below": [("a", "1.0", ["{b}<2.0"]), ("b", "2.0b3", [])],
    "pre-release-fits": [("a", "1.0", ["{b}>=2.0rc1,<3"]), ("b", "2.0rc2", [])],
    "pre-release-counts": [("a", "1.0", ["{b}>=1.0"]), ("b", "1.1.dev3", [])],
    "post-release": [("a", "1.0", ["{b}>1.0"]), ("b", "1.0.post1", [])],
    "local-fits": [("a", "1.0", ["{b}==2.1.0"]), ("b", "2.1.0+cu121", [])],
    "local-differs": [("a", "1.0", ["{b}==2.1.0+cpu"]), ("b", "2.1.0+cu121", [])],
    "local-not-above": [("a", "1.0", ["{b}>2.1.0"]), ("b", "2.1.0+cu121", [])],
    "arbitrary-fits": [("a", "1.0", ["{b}===2.0"]), ("b", "2.0", [])],
    "arbitrary-differs": [("a", "1.0", ["{b}===2.0"]), ("b", "2.0.0", [])],
    "zeros": [("a", "1.0", ["{b}==2.0"]), ("b", "2.0.0", [])],
    "compatible": [("a", "1.0", ["{b}~=1.4.2"]), ("b", "1.5", [])],
    "wildcard": [("a", "1.0", ["{b}==1.4.*"]), ("b", "1.40", [])],
    "names": [("A_b.C", "1.0", ["{D--e}>=1", "{f.G}"]), ("d.E", "2.0", []), ("F-g", "1", [])],
    "url": [("a", "1.0", ["{b} @ https://example.com/b-9.0-py3-none-any.whl"]), ("b", "1.0", []),
            ("c", "1.0", ["{d} @ https://example.com/d.whl ; python_version > '3'"])],
    "parentheses": [("a", "1.0", ["{b} (>=2)"]), ("b", "1.0", [])],
    "both": [("a", "1.0", ["{b}>=2", "{c}"]), ("b", "1.0", ["{d}"])],
    "requires-python": [("a", "1.0", [])],
}
BROKEN = {"missing", "too-old", "too-new", "two-bounds", "marker-met", "marker-full-version", "marker-machine",
          "marker-implementation", "marker-in", "marker-nested", "epoch-not-met", "pre-release-too-old",
          "pre-release-not-below", "post-release", "local-differs", "local-not-above", "arbitrary-differs", "compatible",
          "wildcard", "url", "parentheses", "both"}


def version(choose):
    text = choose(["", "", "", "1!"]) + ".".join(choose("0123") for _ in range(choose([1, 2, 2, 3])))
    return text + choose([""] * 4 + ["a1", "b2", "rc1"]) + choose([""] * 5 + [".post1"]) + choose([""] * 5 + [".dev2"])


def random_requirement(choose):
    parts = []
    for _ in range(choose([1, 1, 2])):
        operator = choose(["==", "!=", ">=", "<=", "<", ">", "~="])
        wanted = version(choose)
        if operator == "~=" and "." not in wanted.replace(".post", "").replace(".dev", ""):
            wanted = "1.0"
        if operator in ("==", "!=") and choose([True, False, False]):
            wanted = choose(["1.*", "0.2.*", "2.0.*", "1!1.*"])
        parts.append(operator + wanted)
    return ",".join(parts)


def wheels_of_kinds(folder):
    """Wheels of all kinds, and of pairs that chance made."""
    paths = []
    for kind, packages in KINDS.items():
        def named(name, kind=kind):
            return f"{kind}-{name}"
        for name, its_version, wishes in packages:
            wishes = [named(wish[1:].replace("}", "", 1)) for wish in wishes]
            python = ">=3.12" if kind == "requires-python" else None
            paths.append(trees.wheel(folder, named(name), its_version, wishes, python))
    choose = random.Random(20261201).choice
    for number in range(60):
        paths.append(trees.wheel(folder, f"chance{number}-a", "1.0", [f"chance{number}-b{random_requirement(choose)}"]))
        its_version = version(choose) + choose([""] * 5 + ["+cu1"])
        paths.append(trees.wheel(folder, f"chance{number}-b", its_version))
    return paths


def of_kind(found, kind):
    return {one for one in found if one[0].startswith(f"{kind}-")}


@pytest.fixture(scope="module")
def place():
    with bed.temporary_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def pip(place):
    return trees.Pip(place)


class Environment:
    """An environment on the disk, and the report on an image that holds it."""

    def __init__(self, imgforge, pip, python, folder, tree, env=None):
        self.python, self.tree = python, tree
        path = {"PATH": f"{tree}/bin:/usr/local/bin:/usr/bin:/bin"}
        source = trees.layout(folder, [trees.debian_python(), {str(tree): tree}], {**path, **(env or {})})
        self.subject = imgforge.verify(source, "--target", "portable").subject
        self.check = pip.check(python)
        self.listed = pip.list(python)

    def interpreter(self):
        """The one of the environment, as imgforge found it."""
        (found,) = [one for one in self.subject["facts"]["interpreters"] if one["path"].startswith(f"{self.tree}/")]
        return found

    def distributions(self):
        return distributions(self.subject, self.interpreter())


def distributions(subject, interpreter):
    """Name → version of what an interpreter sees, by imgforge's report."""
    seen = {}
    for site in interpreter["site_packages"]:
        for one in subject["facts"]["distributions"]:
            if one["site"] == site:
                seen.setdefault(one["name"], one["version"])
    return seen


@pytest.fixture(scope="module")
def kinds(imgforge, pip, place):
    python = pip.venv(place / "kinds")
    (place / "wheels").mkdir()
    pip.install(python, "--no-deps", "--no-index", "--ignore-requires-python", *wheels_of_kinds(place / "wheels"))
    return Environment(imgforge, pip, python, place / "kinds-image", place / "kinds")


@pytest.mark.parametrize("kind", KINDS)
def test_pip_check_says_the_same(kinds, kind):
    expected = of_kind(kinds.check, kind)
    assert bool(expected) == (kind in BROKEN), "pip itself has another opinion than this table"
    assert of_kind(trees.broken_requirements(kinds.subject), kind) == expected


def test_pip_check_says_the_same_of_pairs_by_chance(kinds):
    expected = of_kind({("chance-", *one) for one in kinds.check if one[0].startswith("chance")}, "chance")
    assert 15 < len(expected) < 55
    found = trees.broken_requirements(kinds.subject)
    assert {("chance-", *one) for one in found if one[0].startswith("chance")} == expected
    assert found == kinds.check


def test_requires_python(kinds):
    (named,) = [one["message"] for one in kinds.subject["findings"] if one["rule"] == "python/requires-python"]
    assert named.startswith("requires-python-a 1.0 requires Python >=3.12, and ")


def test_distributions_are_those_of_pip_list(kinds):
    assert kinds.distributions() == kinds.listed


def test_the_interpreter_of_a_venv(kinds):
    found = kinds.interpreter()
    assert found["kind"] == "venv"
    assert found["version"] == trees.version_of(kinds.python)
    assert found["on_path_as"] == ["python", "python3", f"python{trees.MINOR}"]
    system = next(one for one in kinds.subject["facts"]["interpreters"] if one["path"] == str(trees.SYSTEM))
    assert system["version"] == trees.version_of(trees.SYSTEM)


def test_a_venv_over_the_system_editable_and_direct_installs(imgforge, pip, place):
    """What lies in the base shows through, what lies above it hides it; .pth, direct URLs and editable installs."""
    base = trees.own_python(place / "base")
    wheels = place / "over"
    wheels.mkdir()
    old, new = trees.wheel(wheels, "shared", "1.0"), trees.wheel(wheels, "shared", "2.0")
    below = trees.wheel(wheels, "below", "1.0", ["shared<2"])
    site = place / "base" / "lib" / f"python{trees.MINOR}" / "site-packages"
    pip.install(base, "--no-deps", "--no-index", "--target", site, old, below)
    bed.run([base, "-m", "venv", "--without-pip", "--system-site-packages", place / "over-venv"])
    python = place / "over-venv" / "bin" / "python"
    pip.install(python, "--no-deps", "--no-index", "--ignore-installed", new)
    added = place / "over-venv" / "more"
    pip.install(python, "--no-deps", "--no-index", "--target", added, trees.wheel(wheels, "by-path-file", "1.0"))
    own_site = place / "over-venv" / "lib" / f"python{trees.MINOR}" / "site-packages"
    (own_site / "more.pth").write_text(f"# a comment\n{added}\nimport os\n/nowhere\n")
    project = place / "over-venv" / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "in-place"\nversion = "3.1"\n[build-system]\n'
                                            'requires = ["setuptools>=70.1"]\nbuild-backend = "setuptools.build_meta"\n')
    pip.install(python, "-e", project)
    source = trees.layout(place / "over-image", [trees.debian_python(), {str(place / "base"): place / "base",
                                                                         str(place / "over-venv"): place / "over-venv"}],
                          {"PATH": f"{place}/over-venv/bin:/usr/bin:/bin"})
    subject = imgforge.verify(source, "--target", "portable").subject
    interpreters = {one["path"]: one for one in subject["facts"]["interpreters"]}
    found = next(one for path, one in interpreters.items() if path.startswith(f"{place}/over-venv/"))
    assert found["version"] == trees.version_of(python)
    assert distributions(subject, found) == pip.list(python)
    assert trees.broken_requirements(subject) == pip.check(python) == {("below", "1.0", "conflict", "shared", "2.0")}


def test_a_conda_like_layout(imgforge, pip, place):
    python = trees.own_python(place / "conda")
    said = trees.version_of(python)
    meta = place / "conda" / "conda-meta"
    meta.mkdir()
    (meta / f"python-{said}-h955ad1f_0_cpython.json").write_text("{}")
    site = place / "conda" / "lib" / f"python{trees.MINOR}" / "site-packages"
    (place / "conda-wheels").mkdir()
    pip.install(python, "--no-deps", "--no-index", "--target", site, trees.wheel(place / "conda-wheels", "some-thing", "1.0"))
    environment = Environment(imgforge, pip, python, place / "conda-image", place / "conda")
    found = environment.interpreter()
    assert (found["kind"], found["version"]) == ("conda", said)
    assert environment.distributions() == environment.listed == {"some-thing": "1.0"}


def test_a_standalone_build_and_a_venv_made_by_uv(imgforge, pip, place):
    """uv keeps its interpreters in folders that say their versions; a venv of it names the folder of the minor."""
    machine = os.uname().machine
    said = trees.version_of(trees.SYSTEM)
    root = place / "uv-python"
    python = trees.own_python(root / f"cpython-{said}-linux-{machine}-gnu")
    link = root / f"cpython-{trees.MINOR}-linux-{machine}-gnu"
    link.symlink_to(python.parent.parent.name)
    tools = pip.venv(place / "uv-tool")
    pip.install(tools, "uv")
    uv = place / "uv-tool" / "bin" / "uv"
    bed.run([uv, "venv", "-q", "--python", link / "bin" / f"python{trees.MINOR}", place / "uv-venv"])
    (place / "uv-wheels").mkdir()
    bed.run([uv, "pip", "install", "-q", "--offline", "--no-deps", "--python", place / "uv-venv" / "bin" / "python",
             trees.wheel(place / "uv-wheels", "Of_uv", "1.0", ["not-there"])])
    source = trees.layout(place / "uv-image", [{str(root): root, str(place / "uv-venv"): place / "uv-venv"}],
                          {"PATH": f"{place}/uv-venv/bin:/usr/bin:/bin"})
    subject = imgforge.verify(source, "--target", "portable").subject
    venv, standalone = subject["facts"]["interpreters"]
    assert (venv["kind"], venv["version"], venv["prefix"]) == ("venv", said, str(place / "uv-venv"))
    assert (standalone["kind"], standalone["version"], standalone["path"]) == ("standalone", said, str(python))
    assert distributions(subject, venv) == pip.list(place / "uv-venv" / "bin" / "python") == {"of-uv": "1.0"}
    assert trees.broken_requirements(subject) == {("of-uv", "1.0", "missing", "not-there")}


def test_the_system_of_this_machine(imgforge, pip, place):
    """Debian's packages, and what pip put beside them."""
    members = trees.debian_python()
    for folder in ("/usr/lib/python3/dist-packages", f"/usr/local/lib/python{trees.MINOR}/dist-packages"):
        if pathlib.Path(folder).is_dir():
            members[folder] = pathlib.Path(folder)
    source = trees.layout(place / "system-image", [members], {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONNOUSERSITE": "1"})
    subject = imgforge.verify(source, "--target", "portable").subject
    (system,) = subject["facts"]["interpreters"]
    assert system["version"] == trees.version_of(trees.SYSTEM)
    assert distributions(subject, system) == pip.list(trees.SYSTEM)
    assert trees.broken_requirements(subject) == pip.check(trees.SYSTEM)
    assert not [one for one in subject["findings"] if one["rule"] == "python/abi-mismatch"]


@pytest.fixture(scope="module")
def sdk_like(pip, place):
    """A tree like Beam's SDK image, with apache-beam and what it requires really installed; and its own Python."""
    python = trees.own_python(place / "sdk")
    site = place / "sdk" / "lib" / f"python{trees.MINOR}" / "site-packages"
    pins = [f"{name}=={its_version}" for name, its_version in BEAM_PINS.items()]
    pip.install(python, "--target", site, "--prefer-binary", f"apache-beam=={BEAM}", *pins, "pip", "setuptools", "wheel")
    bases.make_beam_folder(place / "sdk-beam", BEAM)
    return python, site


def sdk_image(place, name, *more_layers):
    prefix = "/usr/local"
    first = {"etc/os-release": pathlib.Path("/etc/os-release").resolve(), "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
             "etc/group": b"root:x:0:\n", "tmp/.keep": b"", prefix: place / "sdk",
             f"{prefix}/include/python{trees.MINOR}/patchlevel.h":
                 f'#define PY_VERSION "{trees.version_of(trees.SYSTEM)}"\n'.encode(),
             f"{prefix}/lib/python{trees.MINOR}/ensurepip/_bundled/pip-23.0.1-py3-none-any.whl": b"PK\5\6" + bytes(18)}
    return trees.layout(place / name, [first, {"opt/apache/beam": place / "sdk-beam"}, *more_layers],
                        {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"},
                        ["/opt/apache/beam/boot"])


def test_an_image_like_the_sdks_passes(imgforge, pip, place, sdk_like):
    python, site = sdk_like
    result = imgforge.verify(sdk_image(place, "sdk-image"))
    assert result.code == 0, result
    assert result.subject["verdict"] == "pass", result
    assert result.findings("error") == result.findings("warning") == []
    (interpreter,) = result.subject["facts"]["interpreters"]
    assert interpreter["version"] == trees.version_of(python)
    assert distributions(result.subject, interpreter) == pip.list(python)
    assert pip.check(python) == set()


def test_a_package_replaced_after_beam(imgforge, pip, place, sdk_like):
    """pip install --no-deps of another dill and numpy in a later layer: an error, for Beam needs them."""
    python, site = sdk_like
    prefix = f"usr/local/lib/python{trees.MINOR}/site-packages"
    (place / "later").mkdir()
    members = {}
    for name, its_version in (("dill", "0.3.8"), ("numpy", "1.10.0")):
        (old,) = site.glob(f"{name}-*.dist-info")
        members[f"{prefix}/.wh.{old.name}"] = b""
        shutil.rmtree(old)
        pip.install(python, "--no-deps", "--no-index", "--target", place / "later",
                    trees.wheel(place, name, its_version))
        shutil.copytree(place / "later" / f"{name}-{its_version}.dist-info", site / f"{name}-{its_version}.dist-info")
        members[f"{prefix}/{name}-{its_version}.dist-info"] = place / "later" / f"{name}-{its_version}.dist-info"
    result = imgforge.verify(sdk_image(place, "later-image", members))
    found = trees.broken_requirements(result.subject)
    assert ("apache-beam", BEAM, "conflict", "dill", "0.3.8") in found
    assert found == pip.check(python)
    assert "python/broken-requirements" in result.findings("error"), result
