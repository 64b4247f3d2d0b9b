"""container-structure-test files, as they are, against images (docs/structure-tests.md)."""

import gzip
import hashlib
import io
import json
import tarfile
import xml.etree.ElementTree

import pytest

SECRET = "c0ffee-c0ffee-1"


def _tar(*entries):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content, more in entries:
            member = tarfile.TarInfo(name)
            for key, value in more.items():
                setattr(member, key, value)
            data = content.encode() if isinstance(content, str) else content
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _layout(folder, layers, config):
    """An OCI layout of gzipped layers."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    prefix = "application/vnd.oci.image."
    diff_ids = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    document = {"architecture": "amd64", "os": "linux", "config": config,
                "rootfs": {"type": "layers", "diff_ids": diff_ids}, "history": []}
    manifest = {"schemaVersion": 2, "mediaType": prefix + "manifest.v1+json",
                "config": blob(json.dumps(document).encode(), prefix + "config.v1+json"),
                "layers": [blob(gzip.compress(layer), prefix + "layer.v1.tar+gzip") for layer in layers]}
    entry = blob(json.dumps(manifest).encode(), prefix + "manifest.v1+json")
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return f"oci:{folder}"


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    below = _tar(("etc/app.conf", "mode=fast\n", {"mode": 0o640, "uid": 1000, "gid": 1000}),
                 ("old/secret.txt", "hidden", {}), ("usr/share/doc/app/copyright", "Apache-2.0", {}))
    above = _tar(("old/.wh..wh..opq", "", {}), ("etc/link", "", {"type": tarfile.SYMTYPE, "linkname": "/etc/app.conf"}))
    config = {"Env": ["PATH=/usr/bin", f"API_TOKEN={SECRET}", "WHERE=/etc"], "Entrypoint": ["/bin/tool"], "User": "app",
              "ExposedPorts": {"8080/tcp": {}}, "Volumes": {"/data": {}}, "WorkingDir": "/app",
              "Labels": {"version": "1.2.3"}}
    return _layout(tmp_path_factory.mktemp("structure"), [below, above], config)


HEALTHY = """
schemaVersion: '2.0.0'
fileExistenceTests:
- name: Config is there
  path: /etc/app.conf
  permissions: '-rw-r-----'
  uid: 1000
  gid: 1000
- {name: Opaque folders hide, path: /old/secret.txt, shouldExist: false}
- {name: Links stay inside, path: $WHERE/link, uid: 1000}
fileContentTests:
- {name: Mode, path: /etc/link, expectedContents: ['mode=\\w+'], excludedContents: [slow]}
metadataTest:
  envVars: [{key: PATH, value: '^/usr', isRegex: true}]
  unboundEnvVars: [{key: DEBUG}]
  labels: [{key: version, value: 1.2.3}]
  entrypoint: [/bin/tool]
  cmd: []
  exposedPorts: ['8080']
  volumes: [/data]
  workdir: /app
  user: app
licenseTests: [{debian: true, files: []}]
"""


def ours(result, key):
    rules = [one if isinstance(one, str) else one["rule"] for one in result.subject[key]]
    return [rule for rule in rules if rule.startswith("structure-test/")]


def test_healthy(imgforge, image, tmp_path):
    (tmp_path / "tests.yaml").write_text(HEALTHY)
    result = imgforge.verify(image, "--structure-test", tmp_path / "tests.yaml")
    assert ours(result, "findings") == [] and ours(result, "undecided") == [], result
    assert ours(result, "passed") == [f"structure-test/{name}" for name in (
        "config-is-there", "opaque-folders-hide", "links-stay-inside", "mode", "license", "metadata")], result


def test_faults_have_places_and_no_secrets(imgforge, image, tmp_path):
    (tmp_path / "tests.json").write_text(json.dumps({
        "schemaVersion": "2.0.0",
        "fileExistenceTests": [{"name": "gone", "path": "/gone"}],
        "fileContentTests": [{"name": "slow", "path": "/etc/app.conf", "expectedContents": ["mode=slow"]}],
        "metadataTest": {"env": [{"key": "API_TOKEN", "value": "another"}]},
        "commandTests": [{"name": "runs", "command": "true"}]}, indent="\t"))
    result = imgforge.verify(image, "--structure-test", tmp_path / "tests.json")
    assert result.code == 1, result
    findings = [one for one in result.subject["findings"] if one["rule"].startswith("structure-test/")]
    assert sorted(one["rule"] for one in findings) == [
        "structure-test/gone", "structure-test/metadata", "structure-test/slow"]
    for one in findings:
        assert one["level"] == "error" and one["evidence"][0]["file"].endswith("tests.json"), one
        assert one["evidence"][0]["line"] > 2 and one["url"].endswith("structure-tests.md"), one
        assert SECRET not in one["message"] and "mode=fast" not in one["message"], one
    assert ours(result, "undecided") == ["structure-test/runs"] and ours(result, "passed") == [], result


def test_commands_are_never_passed(imgforge, image, tmp_path):
    (tmp_path / "tests.yaml").write_text(
        "schemaVersion: 2.0.0\ncommandTests: [{name: a, command: 'true'}]\nfileExistenceTests: [{name: b, path: /etc}]\n")
    result = imgforge.verify(image, "--select", "beam/user-ignored", "--structure-test", tmp_path / "tests.yaml")
    assert result.subject["verdict"] == "undecided" and result.code == 0, result
    strict = imgforge.verify(image, "--select", "beam/user-ignored", "--strict", "--structure-test", tmp_path / "tests.yaml")
    assert strict.code == 1, strict


def test_several_files_behind_the_image(imgforge, image, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(
            f"schemaVersion: 2.0.0\nfileExistenceTests: [{{name: {name}, path: /etc}}]\n")
    result = imgforge("verify", "--format", "json", image, "--structure-test", tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert ours(result, "passed") == ["structure-test/a", "structure-test/b"], result


def test_faults_of_the_file(imgforge, tmp_path):
    (tmp_path / "tests.yaml").write_text(
        "schemaVersion: 2.0.0\nfileExistenceTests:\n- name: a\n  pth: /x\nfileContentTests: [{name: b, path: /x, expectedContents: ['(']}]\n")
    result = imgforge.verify("oci:/nonexistent", "--structure-test", tmp_path / "tests.yaml")
    assert result.code == 2 and "nonexistent" not in result.err, result
    assert "tests.yaml:4:3: error: there is no key pth" in result.err, result
    assert "did you mean path?" in result.err and "does not compile" in result.err, result
    assert imgforge.verify("oci:/nonexistent", "--structure-test", tmp_path / "none.yaml").code == 2
    assert imgforge("verify", "--structure-test", tmp_path / "tests.yaml").code == 2


def test_junit_has_a_case_for_each(imgforge, image, tmp_path):
    (tmp_path / "tests.yaml").write_text(HEALTHY + "commandTests: [{name: runs, command: id}]\n")
    result = imgforge("verify", "--format", "junit", "--structure-test", tmp_path / "tests.yaml", image)
    cases = {case.get("name"): case for case in xml.etree.ElementTree.fromstring(result.out).iter("testcase")}
    assert cases["structure-test/mode"].find("failure") is None
    assert cases["structure-test/runs"].find("skipped") is not None, result
