"""What a user meets before any image is read: usage, help, pipes, the report's schema."""

import json
import re
import subprocess

import jsonschema
import pytest

import bed
import made
from conftest import SOURCE

SCHEMA = json.loads((SOURCE / "docs/report.schema.json").read_text())


@pytest.fixture(scope="module")
def layouts(images):
    """A healthy image and one without boot, as OCI layouts; made by hand."""
    with bed.temporary_folder() as folder:
        made.make_worker(folder / "context", "3.11.9", "2.60.0")
        (folder / "context/Dockerfile").write_text(made.WORKER_DOCKERFILE)
        images.builder.build(folder / "context", "localhost/cli:healthy")
        images.builder.push("localhost/cli:healthy", f"oci:{folder}/healthy:1")
        (folder / "context/root/opt/apache/beam/boot").unlink()
        images.builder.build(folder / "context", "localhost/cli:broken")
        images.builder.push("localhost/cli:broken", f"oci:{folder}/broken:1")
        yield {"healthy": f"oci:{folder}/healthy", "broken": f"oci:{folder}/broken"}


@pytest.mark.parametrize("arguments", [
    [], ["verify"], ["no-such-command"], ["verify", "--no-such-option", "x"], ["verify", "--format", "xml", "x"],
    ["verify", "--today", "yesterday", "x"], ["render"], ["render", "/no/such/recipe.yaml"],
    ["explain", "no/such-rule"],
])
def test_usage_errors(arguments, imgforge):
    result = imgforge(*arguments)
    assert result.code == 2, result
    assert result.err.strip(), "it says why, on stderr"
    assert len(result.err.splitlines()) < 40, result


@pytest.mark.parametrize("command", [[], ["verify"], ["inspect"], ["render"], ["explain"]])
def test_help(command, imgforge):
    result = imgforge(*command, "--help")
    assert result.code == 0, result
    assert "Usage: imgforge" in result.out
    assert not result.err


def test_version(imgforge):
    result = imgforge("--version")
    assert result.code == 0, result
    assert re.search(r"\d+\.\d+\.\d+", result.out), result


def test_reports_keep_their_schema(imgforge, layouts):
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for image, code, verdict in (("healthy", 0, "pass"), ("broken", 1, "fail"), ("nowhere", 3, "error")):
        result = imgforge.verify(layouts.get(image, "oci:/no/such/layout"))
        assert result.code == code, result
        assert result.subject["verdict"] == verdict
        validator.validate(result.report)
    several = imgforge("verify", "--format", "json", layouts["healthy"], layouts["broken"])
    assert several.code == 1, "several subjects: the largest"
    assert len(several.report["subjects"]) == 2
    validator.validate(several.report)


def test_inspect(imgforge, layouts):
    page = imgforge("inspect", layouts["healthy"])
    assert page.code == 0, page
    assert "2.60.0" in page.out and "3.11.9" in page.out, page
    facts = json.loads(imgforge("inspect", "--format", "json", layouts["healthy"]).out)
    assert "apache-beam" in json.dumps(facts)


def test_no_escape_codes_in_a_pipe(imgforge, layouts):
    for arguments in (["verify", layouts["broken"]], ["inspect", layouts["broken"]], ["verify", "-v", layouts["healthy"]],
                      ["explain", "beam/boot-missing"], ["--help"], ["verify"]):
        result = imgforge(*arguments, environment={"TERM": "xterm-256color"})
        assert "\x1b" not in result.out + result.err, result


def test_a_reader_that_goes_away(imgforge, layouts):
    """`imgforge verify ... | head -1`: no crash, nothing about it."""
    with subprocess.Popen([imgforge.binary, "verify", "--format", "json", layouts["healthy"]], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    # 141 as a shell says it, or an ordinary end: never a signal of a fault.
    assert process.returncode in (-13, 0, 2, 3), process.returncode
    assert b"terminate called" not in said, said


def test_one_line_of_cause_and_the_way_out(imgforge, layouts):
    result = imgforge("verify", layouts["broken"])
    assert result.code == 1
    assert "beam/boot-missing" in result.out
    assert "/opt/apache/beam/boot" in result.out
    assert "COPY" in result.out, "the fix is a line to write"
