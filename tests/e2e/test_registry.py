"""Images read from real registries (docker-registry). Those that fail or lie: test_faults.py."""

import socket

import pytest

import bed
import made

PASSWORD = "s3cr3t-of-the-tests"
STAND_IN = "a small image made by hand, with nothing in it that runs"


@pytest.fixture(scope="module")
def small_image(images):
    """Repository and tag of an image of few KB that keeps the contract."""
    with bed.temporary_folder() as context:
        made.make_worker(context, "3.11.9", "2.60.0")
        tag = f"{images.registry.host}/run/small:1"
        (context / "Dockerfile").write_text(made.WORKER_DOCKERFILE)
        images.builder.build(context, tag)
        images.builder.push(tag, f"docker://{tag}")
    return "run/small:1"


@pytest.fixture(scope="module")
def storage(bases):
    """Where the image is: further registries serve the same folder."""
    return bases.cache / "storage"


@pytest.fixture(autouse=True)
def say(say_stand_ins):
    say_stand_ins(STAND_IN)


def assert_no_verdict(result, *words):
    """Exit 3, an error in the report and on stderr, and a message that has these words."""
    assert result.code == 3, result
    assert result.subject["verdict"] == "error", result
    assert not result.subject["findings"], result
    said = result.subject["error"]["message"] + " " + result.subject["error"].get("hint", "")
    for word in words:
        assert word in said, (word, said)
    assert result.subject["error"]["message"] in result.err, "people who look at the terminal see it, too"


def test_anonymous(imgforge, registry, small_image):
    for reference in (f"{registry.host}/{small_image}", f"docker://127.0.0.1:{registry.port}/{small_image}"):
        result = imgforge.verify(reference)
        assert result.code == 0, result
        assert result.subject["digest"].startswith("sha256:")


def test_by_digest(imgforge, registry, small_image):
    digest = imgforge.verify(f"{registry.host}/{small_image}").subject["digest"]
    result = imgforge.verify(f"{registry.host}/run/small@{digest}")
    assert result.code == 0, result
    assert result.subject["digest"] == digest
    other = "sha256:" + "0" * 64
    assert_no_verdict(imgforge.verify(f"{registry.host}/run/small@{other}"), other[:20])


def test_basic_credentials(imgforge, storage, small_image, tmp_path):
    with bed.registry(storage=storage, user="reader", password=PASSWORD) as private:
        image = f"{private.host}/{small_image}"
        good = bed.docker_config(tmp_path / "good", private.host, "reader", PASSWORD)
        result = imgforge.verify(image, environment={"DOCKER_CONFIG": str(good)})
        assert result.code == 0, result
        assert PASSWORD not in str(result)

        wrong = bed.docker_config(tmp_path / "wrong", private.host, "reader", PASSWORD + "-wrong")
        result = imgforge.verify(image, environment={"DOCKER_CONFIG": str(wrong)})
        assert_no_verdict(result, private.host)
        assert result.subject["error"]["kind"] == "access", result
        assert PASSWORD not in str(result), "a password is in no output, not even a wrong one"

        result = imgforge.verify(image)
        assert_no_verdict(result, private.host)
        assert result.subject["error"]["kind"] == "access", result

        elsewhere = bed.docker_config(tmp_path / "elsewhere", "localhost:1", "reader", PASSWORD)
        result = imgforge.verify(image, environment={"DOCKER_CONFIG": str(elsewhere)})
        assert result.subject["error"]["kind"] == "access", "a login for another registry is not used"


def test_damaged_docker_config(imgforge, storage, small_image, tmp_path):
    with bed.registry(storage=storage, user="reader", password=PASSWORD) as private:
        (tmp_path / "config.json").write_text('{"auths": {"' + private.host + '": {"auth": "' + PASSWORD)
        result = imgforge.verify(f"{private.host}/{small_image}", environment={"DOCKER_CONFIG": str(tmp_path)})
    assert_no_verdict(result, "config.json")
    assert PASSWORD not in str(result)


def test_tls(imgforge, storage, certificates, small_image):
    with bed.registry(storage=storage, certificates=certificates) as private:
        image = f"{private.host}/{small_image}"
        result = imgforge.verify(image, environment={"SSL_CERT_FILE": str(certificates.ca)})
        assert result.code == 0, result

        result = imgforge.verify(image)
        assert_no_verdict(result, "certificate", "SSL_CERT_FILE")
        assert result.subject["error"]["kind"] == "network", result

        assert imgforge.verify(image, "--insecure").code == 0, "--insecure checks no certificate"


def test_missing(imgforge, registry, small_image):
    missing_tag = imgforge.verify(f"{registry.host}/run/small:no-such-tag")
    assert_no_verdict(missing_tag, "no-such-tag")
    assert missing_tag.subject["error"]["kind"] == "not-found", missing_tag
    missing_repository = imgforge.verify(f"{registry.host}/run/no-such-repository:1")
    assert_no_verdict(missing_repository, "run/no-such-repository")
    assert missing_repository.subject["error"]["kind"] == "not-found", missing_repository


def test_nobody_listens(imgforge):
    with socket.socket() as taken:  # bound, and deaf: nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        host = f"localhost:{taken.getsockname()[1]}"
        result = imgforge.verify(f"{host}/run/small:1")
    assert_no_verdict(result, host)
    assert result.subject["error"]["kind"] == "network", result


def test_wrong_platform(imgforge, registry, small_image):
    result = imgforge.verify(f"{registry.host}/{small_image}", "--platform", "linux/s390x")
    assert result.code == 1, result
    assert result.findings() == ["image/architecture"], result
