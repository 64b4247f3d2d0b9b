"""What verify believes of an image, shown by running Python in it (chroot, no container engine)."""

import json

from conftest import BEAM
from test_breakages import SDK

LOOK = """
import importlib.metadata, json, os, platform, sys
import apache_beam
from apache_beam.testing.test_pipeline import TestPipeline
with apache_beam.Pipeline() as pipeline:
    _ = pipeline | apache_beam.Create([1, 2, 3]) | apache_beam.Map(lambda number: number * 2)
names = {d.metadata["Name"].lower().replace("_", "-").replace(".", "-"): d.version for d in importlib.metadata.distributions()}
print(json.dumps({"beam": apache_beam.__version__, "python": platform.python_version(), "distributions": names}))
"""


def test_facts_are_what_python_says(imgforge, bases, good_image, say_stand_ins):
    say_stand_ins(SDK)
    with bases.container(good_image) as run:
        said = json.loads(run("python", "-c", LOOK).splitlines()[-1])
        # What boot does for every worker since Beam 2.44.
        run("python", "-m", "venv", "--system-site-packages", "/tmp/worker")
        inherited = run("/tmp/worker/bin/python", "-c", "import apache_beam; print(apache_beam.__version__)").strip()
    assert said["beam"] == inherited == BEAM

    facts = imgforge.verify(good_image).subject["facts"]
    assert said["python"] in [found["version"] for found in facts["interpreters"]]
    seen = {found["name"]: found["version"] for found in facts["distributions"]}
    assert said["distributions"].items() <= seen.items(), "every distribution that Python finds, at its version"
