"""Registries that fail, or lie: a real one behind a proxy that the tests tell how to misbehave. Each run ends in the
right verdict or in exit code 3 with a message, and nothing wrong is kept.

What takes a minute by nature, a server that stalls for longer than imgforge waits, is tests/image/registry_faults_test.cpp.
"""

import contextlib
import email.utils
import json
import os
import time
import urllib.request

import pytest

import bed
import made
import proxy as behaviours

STAND_IN = "a small image made by hand, with nothing in it that runs"
PASSWORD = "s3cr3t-of-the-faults"
FILLER_BYTES = 1_200_000  # a tenth is more than what imgforge takes for progress (64 KiB)
NO_RANGE = {"200": behaviours.ignore_range, "400": behaviours.refuse(400), "416": behaviours.refuse(416),
            "501": behaviours.refuse(501)}


@pytest.fixture(autouse=True)
def say(say_stand_ins):
    say_stand_ins(STAND_IN)


class Storage:
    """buildah's storage, vfs so that it works everywhere, in a folder of its own."""

    def __init__(self, folder):
        self.policy = folder / "policy.json"
        self.policy.write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        self.buildah = ["buildah", "--root", folder / "root", "--runroot", folder / "runroot", "--storage-driver", "vfs"]
        self.environment = os.environ | {"TMPDIR": str(folder), "REGISTRY_AUTH_FILE": str(folder / "auth.json")}
        (folder / "auth.json").write_text("{}")

    def build(self, context, tag):
        bed.run([*self.buildah, "bud", "--isolation", "chroot", "--layers", "--format", "oci", "--signature-policy",
                 self.policy, "-t", tag, context], env=self.environment)

    def push(self, tag, destination, compression):
        bed.run([*self.buildah, "push", "--tls-verify=false", "--signature-policy", self.policy, "--format", "oci",
                 "--compression-format", compression, tag, f"docker://{destination}"], env=self.environment)


class Pushed:
    """An image in the registry. `name` is repository and tag; layers lowest first, as in its manifest."""

    def __init__(self, upstream, name):
        self.name = name
        repository, tag = name.split(":")
        question = urllib.request.Request(f"http://{upstream.host}/v2/{repository}/manifests/{tag}",
                                          headers={"Accept": "application/vnd.oci.image.manifest.v1+json"})
        with urllib.request.urlopen(question) as answer:
            self.digest = answer.headers["Docker-Content-Digest"]
            manifest = json.load(answer)
        self.repository, self.config = repository, manifest["config"]
        self.layers = manifest["layers"]
        self.filler, self.worker = self.layers[0], self.layers[-1]


@pytest.fixture(scope="module")
def upstream():
    with bed.registry() as running:
        yield running


@pytest.fixture(scope="module")
def pushed(upstream):
    """good: keeps the contract. bad: lacks boot. chunked: a good one with tables of contents (zstd:chunked)."""
    with bed.temporary_folder() as folder:
        storage, context = Storage(folder), folder / "context"
        context.mkdir()
        made.make_worker(context, "3.11.9", "2.60.0")
        (context / "filler").write_bytes(os.urandom(FILLER_BYTES))
        dockerfile = made.WORKER_DOCKERFILE.replace("COPY", "COPY filler /var/lib/filler\nCOPY", 1)
        (context / "Dockerfile").write_text(dockerfile)
        storage.build(context, "localhost/good")
        # Other layers: buildah would put those that it pushed as gzip under this name, too.
        (context / "filler").write_bytes(os.urandom(FILLER_BYTES))
        (context / "root/etc/motd").write_text("chunked\n")
        storage.build(context, "localhost/chunked")
        (context / "filler").write_bytes(os.urandom(FILLER_BYTES))
        (context / "root/opt/apache/beam/boot").unlink()
        storage.build(context, "localhost/bad")
        for name, compression in (("good", "gzip"), ("bad", "gzip"), ("chunked", "zstd:chunked")):
            storage.push(f"localhost/{name}", f"{upstream.host}/worker/{name}:1", compression)
    found = {name: Pushed(upstream, f"worker/{name}:1") for name in ("good", "bad", "chunked")}
    assert all("gzip" in layer["mediaType"] for name in ("good", "bad") for layer in found[name].layers)
    assert all("zstd" in layer["mediaType"] for layer in found["chunked"].layers), found["chunked"].layers
    return found


@pytest.fixture(scope="module")
def truth(imgforge, upstream, pushed):
    """What imgforge says of each image, straight from the registry and without a cache."""
    said = {name: imgforge.verify(f"{upstream.host}/{image.name}", "--no-cache") for name, image in pushed.items()}
    assert [(name, said[name].code, said[name].findings()) for name in ("good", "bad", "chunked")] == [
        ("good", 0, []), ("bad", 1, ["beam/boot-missing"]), ("chunked", 0, [])]
    return said


def verdict_of(result):
    """What must not depend on how the bytes came."""
    subject = result.subject
    return [result.code] + [subject.get(key) for key in ("verdict", "digest", "platform", "findings", "undecided",
                                                         "passed", "facts")]


class Trial:
    """imgforge in front of a proxy, with a cache of its own, and what must hold afterwards."""

    def __init__(self, imgforge, upstream, pushed, truth, cache):
        self.imgforge, self.upstream, self.pushed, self.truth, self.cache = imgforge, upstream, pushed, truth, cache

    def run(self, misbehave, image="good", options=(), environment=None):
        """Gives the result and the proxy, which has ended."""
        with behaviours.proxy(self.upstream.port, misbehave) as front:
            result = self.imgforge.verify(f"{front.host}/{self.pushed[image].name}", "--cache", self.cache, *options,
                                          environment=environment)
        assert PASSWORD not in str(result)
        return result, front

    def passes(self, misbehave, image="good", **more):
        result, front = self.run(misbehave, image, **more)
        assert verdict_of(result) == verdict_of(self.truth[image]), result
        assert result.subject["assurance"] == self.truth[image].subject["assurance"], result
        self.nothing_wrong_is_kept(image)
        return result, front

    def ends(self, misbehave, *words, kind="network", image="good", **more):
        """Exit code 3, and the message says it."""
        result, front = self.run(misbehave, image, **more)
        assert result.code == 3, result
        assert result.subject["verdict"] == "error" and not result.subject["findings"], result
        error = result.subject["error"]
        assert error["kind"] == kind, result
        assert error["message"] in result.err, "people who look at the terminal see it, too"
        for word in words:
            assert str(word) in error["message"], (word, result)
        self.nothing_wrong_is_kept(image)
        return result, front

    def nothing_wrong_is_kept(self, image):
        """The same image from the registry itself, with the cache that the faulty run left."""
        after = self.imgforge.verify(f"{self.upstream.host}/{self.pushed[image].name}", "--cache", self.cache)
        assert verdict_of(after) == verdict_of(self.truth[image]), after


@pytest.fixture
def trial(imgforge, upstream, pushed, truth, tmp_path):
    return Trial(imgforge, upstream, pushed, truth, tmp_path / "cache")


def on(digest, behaviour, numbers=None):
    """The behaviour for requests of one blob: all, or those with these numbers."""
    return lambda request: behaviour if request.is_for(digest) and (numbers is None or request.number in numbers) else None


def ranged(digest, whole, part):
    """One behaviour for requests of a blob without Range, one for those with."""
    return lambda request: None if not request.is_for(digest) else whole if request.range is None else part


def test_the_proxy_itself_changes_nothing(trial):
    for image in ("good", "bad", "chunked"):
        trial.passes(None, image)


# Connections that break.


@pytest.mark.parametrize("tenth", range(10))
def test_cut_at_each_tenth(tenth, trial):
    image = "bad" if tenth % 3 == 0 else "good"
    layer = trial.pushed[image].filler
    at = layer["size"] * tenth // 10
    _, front = trial.passes(on(layer["digest"], behaviours.cut(at), [0]), image)
    ranges = [request.range for request in front.asked(layer["digest"])]
    assert ranges == [None, (at, layer["size"] - 1) if at else None], "it goes on where it stood"


def test_cut_at_every_tenth(trial):
    layer = trial.pushed["good"].filler
    _, front = trial.passes(on(layer["digest"], behaviours.cut(layer["size"] // 10 + 1)))
    assert len(front.asked(layer["digest"])) == 10


def test_cut_again_and_again(trial):
    """A hundred bytes come each time: less than it takes to go on for ever."""
    layer = trial.pushed["good"].worker
    _, front = trial.ends(on(layer["digest"], behaviours.cut(100)), "layer", "of", f"{layer['size']} bytes")
    assert 2 <= len(front.asked(layer["digest"])) <= 10


def test_cut_within_manifest_and_config(trial):
    good = trial.pushed["good"]
    trial.passes(lambda request: behaviours.cut(50) if request.is_manifest and request.number == 0 else None)
    trial.passes(on(good.config["digest"], behaviours.cut(50), [0]))


# Bytes that are others.


@pytest.mark.parametrize("part", ["filler", "worker", "config"])
@pytest.mark.parametrize("at", [0, -1], ids=["first", "last"])
def test_a_byte_flipped(part, at, trial):
    blob = getattr(trial.pushed["good"], part)
    trial.ends(on(blob["digest"], behaviours.flip(at)), kind="corrupt")


def test_a_byte_flipped_after_a_break(trial):
    layer = trial.pushed["good"].worker
    trial.ends(ranged(layer["digest"], behaviours.cut(1000), behaviours.flip(0)), "digest", kind="corrupt")


def test_a_byte_of_the_manifest_flipped(trial):
    trial.ends(lambda request: behaviours.flip(-1) if request.is_manifest else None, "digest", kind="corrupt")


def test_a_manifest_of_another_digest_than_the_name_says(trial):
    """The server does not say which digest it is, and its bytes are good JSON."""
    good = trial.pushed["good"]

    def other(exchange):
        answer = exchange.fetch()
        answer.headers.pop("Docker-Content-Digest")
        answer.body = answer.body.replace(b"{", b"{ ", 1)
        exchange.send(answer)

    with behaviours.proxy(trial.upstream.port, lambda request: other if request.is_manifest else None) as front:
        result = trial.imgforge.verify(f"{front.host}/{good.repository}@{good.digest}", "--cache", trial.cache)
    assert result.code == 3 and result.subject["error"]["kind"] == "corrupt", result
    assert good.digest in result.subject["error"]["message"], result


@pytest.mark.parametrize("more", [10, -10])
def test_wrong_content_length(more, trial):
    layer = trial.pushed["good"].worker
    trial.ends(on(layer["digest"], behaviours.announce(more)), "size", layer["size"] + more, kind="corrupt")


# Servers that are busy.


@pytest.mark.parametrize("status, after", [(429, "seconds"), (429, "none"), (503, "date"), (503, "none")])
def test_busy(status, after, trial):
    layer = trial.pushed["good"].worker
    came = []

    def misbehave(request):
        if not request.is_for(layer["digest"]):
            return None
        came.append(time.time())
        if request.number > 0:
            return None
        headers = {"seconds": {"Retry_After": "1"}, "none": {},
                   "date": {"Retry_After": email.utils.formatdate(time.time() + 2, usegmt=True)}}[after]
        return behaviours.refuse(status, **headers)

    trial.passes(misbehave)
    assert len(came) == 2
    assert came[1] - came[0] >= (0.2 if after == "none" else 0.9), "it waits as long as it was asked"


def test_busy_for_ever(trial):
    layer = trial.pushed["good"].worker
    _, front = trial.ends(on(layer["digest"], behaviours.refuse(503, Retry_After="0")), "503")
    assert len(front.asked(layer["digest"])) <= 10


def test_busy_until_tomorrow(trial):
    start = time.monotonic()
    result, front = trial.ends(
        lambda request: behaviours.refuse(429, b'{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}',
                                          Retry_After="86400"), "429", "slow down")
    assert time.monotonic() - start < 20 and len(front.requests) == 1
    assert "log in" in result.subject["error"]["hint"], result


def test_slow_bytes(trial):
    layer = trial.pushed["good"].worker
    trial.passes(on(layer["digest"], behaviours.slow(20, 0.05)))


def test_a_stall_that_ends(trial):
    layer = trial.pushed["good"].filler
    _, front = trial.passes(on(layer["digest"], behaviours.stall(layer["size"] // 2, 1.5), [0]))
    assert len(front.asked(layer["digest"])) == 2


# Logins.


class Tokens:
    """Bearer tokens, asked of the proxy itself: `good` is the one that holds."""

    def __init__(self):
        self.given, self.good, self.front = 0, 1, None

    def __call__(self, request):
        if request.path.startswith("/token"):
            self.given += 1
            return behaviours.refuse(200, json.dumps({"token": f"t{self.given}"}).encode())
        if request.headers.get("Authorization") == f"Bearer t{self.good}":
            return None
        realm = f'Bearer realm="http://{request.headers["Host"]}/token",service="proxy"'
        return behaviours.refuse(401, WWW_Authenticate=realm)


def test_401_in_the_middle(trial):
    layer = trial.pushed["good"].filler
    tokens = Tokens()

    def misbehave(request):
        refused = tokens(request)
        if refused is None and request.is_for(layer["digest"]) and request.range is None:
            tokens.good = 2  # the token expires while the layer is on its way
            return behaviours.cut(layer["size"] // 2)
        return refused

    _, front = trial.passes(misbehave)
    assert tokens.given == 2
    statuses = [request.headers.get("Authorization") for request in front.asked(layer["digest"]) if request.range]
    # Another layer, which comes at the same time, may have found the old one too old before.
    assert statuses in (["Bearer t1", "Bearer t2"], ["Bearer t2"]), statuses


def login_for(front_host, folder):
    return {"DOCKER_CONFIG": str(bed.docker_config(folder, front_host, "reader", PASSWORD))}


def with_basic_login(then):
    """The registry wants a login, and then does as `then` says."""

    def misbehave(request):
        if not request.headers.get("Authorization"):
            return behaviours.refuse(401, WWW_Authenticate='Basic realm="proxy"')
        return then(request)

    return misbehave


@pytest.mark.parametrize("asks", ["Basic", "Bearer", "Bearer-that-everybody-gets"])
def test_a_redirect_that_asks_for_the_password(asks, trial, tmp_path):
    """Another origin, which is another port already, wants the login: it never comes."""
    layer = trial.pushed["good"].worker

    def elsewhere(request):
        if request.path.startswith("/token"):
            return behaviours.refuse(200, b'{"token":"visitor"}')
        if asks == "Bearer-that-everybody-gets" and request.headers.get("Authorization") == "Bearer visitor":
            return None
        realm = f'Bearer realm="http://{request.headers["Host"]}/token",service="elsewhere",scope="repository:a:pull"'
        return behaviours.refuse(401, WWW_Authenticate='Basic realm="elsewhere"' if asks == "Basic" else realm)

    with behaviours.proxy(trial.upstream.port, elsewhere) as other, behaviours.proxy(trial.upstream.port) as front:
        front.misbehave = with_basic_login(
            on(layer["digest"], behaviours.redirect(f"http://{other.host}/v2/worker/good/blobs/{layer['digest']}")))
        result = trial.imgforge.verify(f"{front.host}/{trial.pushed['good'].name}", "--cache", trial.cache,
                                       environment=login_for(front.host, tmp_path / "docker"))
    assert any(request.headers.get("Authorization", "").startswith("Basic ") for request in front.requests)
    assert other.requests, "it was asked"
    for request in other.requests:
        assert request.headers.get("Authorization") in (None, "Bearer visitor"), dict(request.headers)
        assert PASSWORD not in str(request.headers) + request.path
    assert PASSWORD not in str(result)
    if asks == "Bearer-that-everybody-gets":
        assert verdict_of(result) == verdict_of(trial.truth["good"]), result
    else:
        assert result.code == 3 and result.subject["error"]["kind"] == "access", result
        assert "401" in result.subject["error"]["message"], result
    trial.nothing_wrong_is_kept("good")


# Redirects.


def test_a_redirect_drops_the_login(trial, tmp_path):
    """As object stores do, the other origin refuses a request with a login that is not its own."""
    layer = trial.pushed["good"].worker
    refuse_logins = lambda request: behaviours.refuse(400) if request.headers.get("Authorization") else None
    with behaviours.proxy(trial.upstream.port, refuse_logins) as other, behaviours.proxy(trial.upstream.port) as front:
        front.misbehave = with_basic_login(
            on(layer["digest"], behaviours.redirect(f"http://{other.host}/v2/worker/good/blobs/{layer['digest']}")))
        result = trial.imgforge.verify(f"{front.host}/{trial.pushed['good'].name}", "--cache", trial.cache,
                                       environment=login_for(front.host, tmp_path / "docker"))
    assert verdict_of(result) == verdict_of(trial.truth["good"]), result
    assert any(request.headers.get("Authorization") for request in front.requests), "the registry itself got the login"
    assert other.asked(layer["digest"]) and not [request for request in other.requests
                                                 if request.headers.get("Authorization")]


def test_redirects_in_a_circle(trial):
    layer = trial.pushed["good"].worker
    _, front = trial.ends(lambda request: behaviours.redirect(request.path) if request.is_for(layer["digest"]) else None,
                          "redirects")
    assert len(front.asked(layer["digest"])) <= 10


def test_a_redirect_to_nowhere(trial):
    layer = trial.pushed["good"].worker
    trial.ends(on(layer["digest"], behaviours.redirect("file:///etc/passwd")), "redirect")


class SignedUrls:
    """A store whose addresses are signed by number and hold for one request; the first answer breaks in the middle."""

    def __init__(self, layer, lives):
        self.layer, self.signed, self.lives = layer, 0, lives

    def store(self, request):
        number = int(request.path.split("signature=")[1])
        if not self.lives(number, request.number):
            return behaviours.refuse(403, b"<Error><Code>AccessDenied</Code><Message>expired</Message></Error>")
        return behaviours.cut(self.layer["size"] // 2) if request.range is None else None

    def registry(self, store_host, repository):
        def misbehave(request):
            if not request.is_for(self.layer["digest"]):
                return None
            self.signed += 1
            path = f"/v2/{repository}/blobs/{self.layer['digest']}?signature={self.signed}"
            return behaviours.redirect(f"http://{store_host}{path}")

        return misbehave


@contextlib.contextmanager
def signed_store(trial, lives):
    layer = trial.pushed["good"].filler
    urls = SignedUrls(layer, lives)
    with behaviours.proxy(trial.upstream.port, urls.store) as store:
        yield urls, urls.registry(store.host, trial.pushed["good"].repository)


def test_signed_urls_that_expire(trial):
    # The first signature is too old at once, the second serves one request, the third is too old again.
    with signed_store(trial, lambda number, before: number in (2, 4) and before == 0) as (urls, misbehave):
        trial.passes(misbehave)
    assert urls.signed == 4


def test_signed_urls_that_never_hold(trial):
    with signed_store(trial, lambda number, before: False) as (urls, misbehave):
        result, _ = trial.ends(misbehave, "403", kind="access")
    assert urls.signed == 2, "once again through the registry, and no more"
    assert "signature=" not in str(result), "a signed address is a secret"


# Mirrors.


@pytest.mark.parametrize("then", ["dead", "stalls", "without-ranges"])
def test_a_mirror_that_breaks_in_the_middle(then, trial):
    """The rest comes from the registry itself, and the verdict is the same."""
    good, layer = trial.pushed["good"], trial.pushed["good"].filler
    half = layer["size"] // 2

    def mirror_fault(request):
        if not request.is_for(layer["digest"]):
            return None
        if request.number == 0:
            return behaviours.stall(half, 1) if then == "stalls" else behaviours.cut(half)
        return behaviours.refuse(503)

    def front_fault(request):
        return behaviours.refuse(501) if then == "without-ranges" and request.range else None

    with behaviours.proxy(trial.upstream.port, mirror_fault) as mirror, \
            behaviours.proxy(trial.upstream.port, front_fault) as front:
        result = trial.imgforge.verify(f"{front.host}/{good.name}", "--cache", trial.cache,
                                       "--mirror", f"{front.host}={mirror.host}")
    assert verdict_of(result) == verdict_of(trial.truth["good"]), result
    assert mirror.asked(layer["digest"])
    ranges = [request.range for request in front.asked(layer["digest"])]
    rest = (half, layer["size"] - 1)
    assert ranges == ([rest, None] if then == "without-ranges" else [rest]), ranges
    trial.nothing_wrong_is_kept("good")


# Servers that know no Range.


@pytest.mark.parametrize("instead", NO_RANGE)
def test_no_range_after_a_break(instead, trial):
    layer = trial.pushed["good"].filler
    half = layer["size"] // 2

    def misbehave(request):
        if not request.is_for(layer["digest"]):
            return None
        return NO_RANGE[instead] if request.range else behaviours.cut(half) if request.number == 0 else None

    result, _ = trial.passes(misbehave)
    once = trial.truth["good"].subject["cost"]["bytes_read"]
    assert result.subject["cost"]["bytes_read"] == once + half, "what is read twice is part of the cost"


@pytest.mark.parametrize("off", ["first", "last", "total"])
def test_another_range_after_a_break(off, trial):
    layer = trial.pushed["good"].filler

    def misbehave(request):
        if not request.is_for(layer["digest"]):
            return None
        if request.range:
            return behaviours.claim_range(**{off: 1})
        return behaviours.cut(layer["size"] // 2) if request.number == 0 else None

    trial.passes(misbehave)


def all_parts(behaviour):
    return lambda request: behaviour if request.is_blob and request.range else None


@pytest.mark.parametrize("instead", NO_RANGE)
def test_no_range_for_a_table_of_contents(instead, trial):
    """The layers are read whole, then; the verdict rests on more than a table of contents."""
    result, front = trial.run(all_parts(NO_RANGE[instead]), "chunked")
    assert verdict_of(result) == verdict_of(trial.truth["chunked"]), result
    assert trial.truth["chunked"].subject["assurance"] == "toc" and result.subject["assurance"] == "digest", result
    assert sum(1 for request in front.requests if request.range) <= 4, "a host that knows no Range is not asked for ever"
    trial.nothing_wrong_is_kept("chunked")


@pytest.mark.parametrize("off", ["first", "last", "total"])
def test_another_range_of_a_table_of_contents(off, trial):
    trial.ends(all_parts(behaviours.claim_range(**{off: 1})), "asked for the bytes", kind="corrupt", image="chunked")


@pytest.mark.parametrize("at", [0, 10, -1], ids=["first", "eleventh", "last"])
def test_a_byte_flipped_in_parts(at, trial):
    """Of a table of contents, and of files that are read by it."""
    trial.ends(all_parts(behaviours.flip(at)), kind="corrupt", image="chunked")


def test_parts_that_break(trial):
    trial.passes(lambda request: behaviours.cut(20) if request.range and request.number == 0 else None, "chunked")
