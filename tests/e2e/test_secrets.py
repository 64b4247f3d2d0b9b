"""Secrets in layers: found also where a later layer deletes them, known the second time, and never shown or kept."""

import time

import pytest

from test_structure import _layout, _tar

BODY = "QkFTRTY0LU5PVC1BLVJFQUwtS0VZLUpVU1QtQS1URVNU"
TOKEN = "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345"
SITE = "usr/local/lib/python3.11/site-packages"


def key(label):
    return f"-----BEGIN {label}-----\n{BODY}\n-----END {label}-----\n"


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    below = _tar(("root/.ssh/id_rsa", key("OPENSSH " + "PRIVATE KEY"), {"mode": 0o600}),
                 ("etc/pip.conf", f"[global]\nindex-url = https://bot:{TOKEN}@pypi.example.com/simple\n", {}),
                 ("etc/ssl/certs/ca.pem", key("CERTIFICATE"), {}),
                 (f"{SITE}/web/server.pem", key("PRIVATE KEY"), {}),
                 (f"{SITE}/web-1.0.dist-info/RECORD", "web/server.pem,,\n", {}))
    above = _tar(("root/.wh..ssh", "", {}))
    made = _layout(tmp_path_factory.mktemp("secrets"), [below, above], {"Env": [f"BUILD_TOKEN={TOKEN}"]})
    time.sleep(2.5)  # what changed a moment ago is not kept
    return made


def secrets(result):
    return sorted((finding["evidence"][0].get("path") or finding["evidence"][0]["config"])
                  for finding in result.subject["findings"] if finding["rule"] == "image/secret")


def test_found_and_known_the_second_time(imgforge, image, tmp_path):
    found = ["/etc/pip.conf", "/root/.ssh/id_rsa", "Env.BUILD_TOKEN"]
    first = imgforge.verify(image, "--select", "image/secret", "--cache", tmp_path / "cache")
    assert first.code == 1 and secrets(first) == found, first
    second = imgforge.verify(image, "--select", "image/secret", "--cache", tmp_path / "cache")
    assert second.subject["cost"]["layers_read"] == 0 and secrets(second) == found, second


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
def test_never_shown(imgforge, image, form):
    result = imgforge("verify", "--format", form, image)
    assert "image/secret" in result.out, result
    for secret in (BODY, TOKEN):
        assert secret not in result.out + result.err, result


def test_an_image_without(imgforge, tmp_path):
    healthy = _layout(tmp_path / "image", [_tar(("root/.ssh/id_rsa.pub", "ssh-rsa AAAA", {}))], {"Env": ["PATH=/bin"]})
    result = imgforge.verify(healthy, "--select", "image/secret")
    assert result.code == 0 and result.subject["passed"] == ["image/secret"], result
