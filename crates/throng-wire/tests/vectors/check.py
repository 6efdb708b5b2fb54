"""Checks wire.json with Python alone: canonical JSON, Ed25519 and HPKE written out from docs/wire-format.md.

A client in another language does what `seal` and `body` do here. Needs the package `cryptography`:
    python3 crates/throng-wire/tests/vectors/check.py
"""

import hashlib
import hmac
import ipaddress
import json
import pathlib
import re
import struct
import tomllib
from decimal import Decimal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

KEM_SUITE = b"KEM" + struct.pack(">H", 0x0020)
HPKE_SUITE = b"HPKE" + struct.pack(">HHH", 0x0020, 0x0001, 0x0001)


def raw(public_key):
    return public_key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def labeled_extract(suite, salt, label, ikm):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, "sha256")


def labeled_expand(suite, prk, label, info, length):
    info = struct.pack(">H", length) + b"HPKE-v1" + suite + label + info
    out = block = b""
    while len(out) < length:
        block = hmac.digest(prk, block + info + bytes([len(out) // 32 + 1]), "sha256")
        out += block
    return out[:length]


def seal(public, info, aad, plaintext, ikm_e):
    """RFC 9180: DeriveKeyPair, Encap, KeySchedule in base mode, Seal."""
    secret = labeled_expand(KEM_SUITE, labeled_extract(KEM_SUITE, b"", b"dkp_prk", ikm_e), b"sk", b"", 32)
    ephemeral = X25519PrivateKey.from_private_bytes(secret)
    enc = raw(ephemeral.public_key())
    dh = ephemeral.exchange(X25519PublicKey.from_public_bytes(public))
    prk = labeled_extract(KEM_SUITE, b"", b"eae_prk", dh)
    shared = labeled_expand(KEM_SUITE, prk, b"shared_secret", enc + public, 32)
    context = b"\0" + labeled_extract(HPKE_SUITE, b"", b"psk_id_hash", b"")
    context += labeled_extract(HPKE_SUITE, b"", b"info_hash", info)
    prk = labeled_extract(HPKE_SUITE, shared, b"secret", b"")
    key = labeled_expand(HPKE_SUITE, prk, b"key", context, 16)
    nonce = labeled_expand(HPKE_SUITE, prk, b"base_nonce", context, 12)
    return enc + AESGCM(key).encrypt(nonce, plaintext, aad)


def number(value):
    """ECMAScript's form of a number: the shortest digits, as Python has them, with the point where ECMAScript puts it."""
    if isinstance(value, int):
        return str(value)
    if value == 0:
        return "0"
    mantissa, exponent = format(Decimal(repr(value)).normalize(), "e").lower().split("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    digits, point = mantissa.replace(".", ""), int(exponent) + 1
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    return sign + digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1:+d}"


def canonical(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(json.dumps(n, ensure_ascii=False) + ":" + canonical(value[n]) for n in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return number(value)


def signed(key, kind, document):
    return key.sign(b"throng-v1 " + kind + b"\0" + document)


def root(receipt, place, path):
    """The root of the tree that a receipt is in."""
    assert place < 16
    own = hashlib.sha256(b"throng-v1 receipt leaf\0" + receipt).digest()
    for level in range(4):
        beside = path[32 * level : 32 * level + 32]
        pair = beside + own if place >> level & 1 else own + beside
        own = hashlib.sha256(b"throng-v1 receipt node\0" + pair).digest()
    return own


class Stream:
    """The keystream of ChaCha20, nonce and counter zero, as the draws of docs/wire-format.md read it."""

    def __init__(self, key):
        self.keystream = Cipher(ChaCha20(key, bytes(16)), None).encryptor()

    def draw(self, length):
        return self.keystream.update(bytes(length + -length % 4))[:length]

    def below(self, bound):
        while True:
            product = int.from_bytes(self.draw(8), "little") * bound
            if product % 2**64 >= 2**64 % bound:
                return product >> 64


def layers(case):
    """Seals one layer for a hop, or for the analyzer, which is number 0, to the keys of the case's epoch."""
    route = case["route"]
    keys = {}
    for key in sorted(case["layer_keys"], key=lambda key: key["first_epoch"]):  # the one that began last stays
        if key["first_epoch"] <= route["epoch"] <= key["last_epoch"]:
            keys[key["party"]] = key

    def layer(hop, plaintext, ikm_e):
        party = f"instance-{route['instance']}-hop-{hop}" if hop else "analyzer"
        key = keys[party]
        aad = bytes.fromhex(case["survey_hash"])
        aad += struct.pack(">IQIIB", route["label"], route["epoch"], route["instance"], hop, key["id"])
        sealed = seal(bytes.fromhex(key["public"]), b"throng-v1 layer", aad, plaintext, ikm_e)
        return bytes([key["id"]]) + sealed

    return layer


def body(case, survey):
    """A body, from the survey, the public keys and the randomness alone."""
    hops = survey["delivery"]["hops"]
    layer = layers(case)
    envelopes = b""
    for envelope in case["envelopes"]:
        random = iter([bytes.fromhex(seal["ikm_e"]) for seal in envelope["seals"]])
        chaff = envelope["chaff"] is not None
        if chaff:
            inner = bytes.fromhex(envelope["chaff"])
        else:
            inner = struct.pack(">I4x", envelope["attribute"])
            if hops > 1:
                inner = layer(0, inner, next(random))
        inner = bytes([chaff]) + inner
        for hop in [0] if hops == 1 else range(hops, 1, -1):
            inner = layer(hop, inner, next(random))
        assert inner.hex() == envelope["envelope"]
        envelopes += inner
    return layer(1, envelopes, bytes.fromhex(case["body_seal"]["ikm_e"]))


def seeded_body(case, survey):
    """The body that the program makes of the same fragments when its randomness is the keystream of a seed."""
    delivery, layer = survey["delivery"], layers(case)
    stream = Stream(bytes.fromhex(case["seeded_body"]["seed"]))
    contents = [envelope["attribute"] for envelope in case["envelopes"]]
    contents = [attribute for attribute in contents if attribute is not None]
    if delivery["cover"] == "chaff":
        contents += [None] * (delivery["envelopes"] - len(contents))
    for last in range(len(contents) - 1, 0, -1):
        other = stream.below(last + 1)
        contents[last], contents[other] = contents[other], contents[last]
    envelopes = b""
    for attribute in contents:
        chaff, random = attribute is None, stream.draw(57)
        inner = struct.pack(">I4x", attribute or 0)
        if delivery["hops"] > 1:
            inner = layer(0, inner, stream.draw(32))
        inner = bytes([chaff]) + (random[: len(inner)] if chaff else inner)
        for hop in [0] if delivery["hops"] == 1 else range(delivery["hops"], 1, -1):
            inner = layer(hop, inner, stream.draw(32))
        envelopes += inner
    return layer(1, envelopes, stream.draw(32))


class Refused(Exception):
    """What a client does not go on with."""


def require(condition, reason):
    if not condition:
        raise Refused(reason)


def verify(survey, place, kind, document, signature):
    """Checks a signature with the key that the survey pins for a place."""
    parties = {"analyzer": survey["parties"]["analyzer"]}
    for instance, hops in enumerate(survey["parties"]["instances"], 1):
        for hop, party in enumerate(hops["hops"], 1):
            parties[f"instance-{instance}-hop-{hop}"] = party
    require(place in parties, "no such place")
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(parties[place]["signing_key"]))
    try:
        public.verify(signature, b"throng-v1 " + kind + b"\0" + document)
    except InvalidSignature:
        raise Refused("signature") from None


def is_hex(text, length):
    return len(text) == 2 * length and all(digit in "0123456789abcdef" for digit in text)


def survey_hash(survey):
    return hashlib.sha256(canonical(survey).encode()).hexdigest()


def read_key_list(survey, text):
    """Section 2 and 3: two lines, canonical, all fields and no others, signed by its party, and without ambiguity."""
    lines = text.split("\n")
    require(len(lines) == 3 and lines[2] == "" and is_hex(lines[1], 64), "two lines")
    said = json.loads(lines[0])
    require(canonical(said) == lines[0], "not canonical")
    require(sorted(said) == ["keys", "party", "serial", "survey"], "fields")
    require(said["survey"] == survey_hash(survey), "another survey")
    first, ids = set(), []
    for key in said["keys"]:
        lifetime = key["lifetime"]
        require(sorted(key) == ["id", "lifetime", "public"], "fields")
        require(sorted(lifetime) == ["first_epoch", "last_epoch"], "fields")
        require(is_hex(key["public"], 32) and 0 <= key["id"] <= 255, "key")
        require(lifetime["first_epoch"] <= lifetime["last_epoch"], "lifetime")
        first.add(lifetime["first_epoch"])
        ids.append(key["id"])
    publics = {key["public"] for key in said["keys"]}
    require(len(first) == len(ids) == len(publics) and ids == sorted(set(ids)), "ambiguous")
    verify(survey, said["party"], b"key list", lines[0].encode(), bytes.fromhex(lines[1]))
    return said


def read_receipt(survey, route, sent, receipt):
    """Section 6: for these bytes, on this route, at a time in the epoch, and signed by hop 1."""
    require(len(receipt) == 281, "length")
    expected = bytes.fromhex(survey_hash(survey))
    expected += struct.pack(">IQI", route["label"], route["epoch"], route["instance"])
    require(receipt[:48] == expected, "route")
    require(receipt[48:80] == hashlib.sha256(sent).digest(), "body")
    length = survey["epoch_s"]
    start, bucket = route["epoch"] * length, min(3600, length)
    (time,) = struct.unpack(">Q", receipt[80:88])
    require(start // bucket * bucket <= time < start + length, "time")
    require(receipt[88] < 16, "place")
    tree = root(receipt[:88], receipt[88], receipt[89:217])
    verify(survey, f"instance-{route['instance']}-hop-1", b"receipt tree", tree, receipt[217:])


FIELDS = {
    "": "version name question epoch_s encoding randomizer crowd delivery claim labels? parties?",
    "encoding one-hot": "kind domain",
    "encoding sketch": "kind domain rows cells seed",
    "encoding record": "kind attributes",
    "randomizer attribute-fragments": "kind epsilon_local",
    "randomizer report-fragments": "kind epsilon_backstop epsilon_fragment fragments answer_changes?",
    "crowd": "respondents_min honest_fraction? enrolment",
    "delivery": "instances hops envelopes cover keep_sealed_s? keep_batches_s?",
    "claim": "epsilon_central delta neighbors bound",
}
BOUNDS = ["exact", "fmt23", "clones21", "blanket", "lemma", "theorem"]


def read_survey(text):
    """Section 1, as far as the vectors try it: fields, and some of what they may say."""
    survey = tomllib.loads(text)

    def fields(table, names):
        names = names.split()
        needed = {name for name in names if not name.endswith("?")}
        require(needed <= set(table) <= {name.rstrip("?") for name in names}, "fields")

    fields(survey, FIELDS[""])
    for name in ("encoding", "randomizer"):
        fields(survey[name], FIELDS.get(f"{name} {survey[name].get('kind')}", ""))
    for name in ("crowd", "delivery", "claim"):
        fields(survey[name], FIELDS[name])
    require(survey["version"] == 1, "version")
    require(survey["crowd"]["respondents_min"] >= 2, "crowd")
    epsilons = {**survey["randomizer"], **survey["claim"]}
    require(all(number > 0 for name, number in epsilons.items() if name.startswith("epsilon")), "epsilon")
    require(survey["claim"]["bound"] in BOUNDS, "bound")
    return survey


def refuses(read, *arguments):
    try:
        read(*arguments)
    except Refused:
        return True
    return False


def check_refused(refused):
    survey, route, sent = read_survey(refused["survey_toml"]), refused["route"], bytes.fromhex(refused["body"])
    for vector in refused["surveys"]:
        assert refuses(read_survey, vector["survey_toml"]), vector["what"]
    for vector in refused["key_lists"]:
        assert refuses(read_key_list, survey, vector["key_list"]), vector["what"]
    for vector in refused["receipts"]:
        assert refuses(read_receipt, survey, route, sent, bytes.fromhex(vector["receipt"])), vector["what"]
    return sum(len(refused[kind]) for kind in ("surveys", "key_lists", "receipts"))


def read_origin(url):
    """Section 2: https://host[:port], or http:// on this machine. Says whether it is TLS."""
    found = re.fullmatch(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z.-]+)(?::([1-9][0-9]{0,4}))?", url)
    require(found, "not an address")
    scheme, host, port = found.groups()
    require(port is None or int(port) <= 65535, "port")
    try:
        loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
        require((host[0] == "[") == (":" in host), "brackets")
    except ValueError:
        label = r"[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?"
        require(re.fullmatch(rf"({label}\.)*(?=[A-Za-z]){label}", host) and len(host) <= 253, "name")
        loopback = host == "localhost"
    require(scheme == "https" or loopback, "http to another machine")
    return scheme == "https"


def read_address(survey, text):
    """Section 2: two lines, canonical, a certificate exactly with https, signed by its party."""
    lines = text.split("\n")
    require(len(lines) == 3 and lines[2] == "" and is_hex(lines[1], 64), "two lines")
    try:
        said = json.loads(lines[0])
    except ValueError:
        raise Refused("JSON") from None
    require(canonical(said) == lines[0], "not canonical")
    tls = read_origin(said["url"])
    require(sorted(said) == (["certificate"] if tls else []) + ["party", "serial", "survey", "url"], "fields")
    require(said["survey"] == survey_hash(survey), "another survey")
    verify(survey, said["party"], b"address", lines[0].encode(), bytes.fromhex(lines[1]))


def read_signatures(survey, text):
    """Section 2: one document of every party, in any order, with nothing between them."""
    *lines, end = text.split("\n")
    require(end == "" and len(lines) % 2 == 0, "two lines each")
    parties = []
    for document, signature in zip(lines[::2], lines[1::2]):
        require(is_hex(signature, 64), "signature")
        try:
            said = json.loads(document)
        except ValueError:
            raise Refused("JSON") from None
        require(canonical(said) == document and sorted(said) == ["party", "survey"], "fields")
        require(said["survey"] == survey_hash(survey), "another survey")
        verify(survey, said["party"], b"survey", document.encode(), bytes.fromhex(signature))
        parties.append(said["party"])
    wanted = 1 + sum(len(instance["hops"]) for instance in survey["parties"]["instances"])
    require(len(parties) == len(set(parties)) == wanted, "all parties, none twice")


def read_follower(seen, new, epoch):
    """Sections 2 and 3: a newer list of the same party, in which no id of a key that is not over names another key."""
    require((new["survey"], new["party"]) == (seen["survey"], seen["party"]), "party")
    require(new["serial"] > seen["serial"], "serial")
    for old in seen["keys"]:
        if old["lifetime"]["last_epoch"] >= epoch:
            require(all(key["public"] == old["public"] for key in new["keys"] if key["id"] == old["id"]), "id")


def check_documents(documents):
    for vector in documents["numbers"]:
        (double,) = struct.unpack(">d", bytes.fromhex(vector["bits"]))
        assert number(double) == vector["canonical"], vector
    for vector in documents["texts"]:
        text = "".join(map(chr, vector["code_points"]))
        assert canonical(text).encode().hex() == vector["canonical"], vector
    for vector in documents["objects"]:
        assert canonical(vector["value"]).encode().hex() == vector["canonical"], vector
    survey = read_survey(documents["survey_toml"])
    for vector in documents["addresses"]:
        assert refuses(read_address, survey, vector["address"]) != vector["taken"], vector["what"]
    for vector in documents["signatures"]:
        assert refuses(read_signatures, survey, vector["signatures"]) != vector["taken"], vector["what"]
    for vector in documents["key_lists"]:
        lists = json.loads(vector["seen"]), json.loads(vector["new"])
        assert refuses(read_follower, *lists, vector["epoch"]) != vector["follows"], vector["what"]
    return sum(len(vectors) for vectors in documents.values() if isinstance(vectors, list))


def main():
    documents = json.loads(pathlib.Path(__file__).with_name("documents.json").read_text())
    print(f"{check_documents(documents)} numbers, texts and documents are read as they should be")
    vectors = json.loads(pathlib.Path(__file__).with_name("wire.json").read_text())
    for case in vectors["cases"]:
        survey = read_survey(case["survey_toml"])
        assert canonical(survey) == case["survey_json"]
        hash_text = survey_hash(survey)
        assert hash_text == case["survey_hash"]
        for token in case["tokens"]:
            message = b"throng-v1 credential\0" + bytes.fromhex(hash_text) + token["party"].encode()
            assert hmac.digest(bytes.fromhex(case["credential"]), message, "sha256").hex() == token["token"]
        signing = {}
        for key in case["signing_keys"]:
            signing[key["party"]] = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key["seed"]))
            assert raw(signing[key["party"]].public_key()).hex() == key["public"]
        for key in case["layer_keys"]:
            secret = X25519PrivateKey.from_private_bytes(bytes.fromhex(key["secret"]))
            assert raw(secret.public_key()).hex() == key["public"]
        documents = [(b"survey", text) for text in case["approvals"]]
        lists = [case["key_list"], case["analyzer_key_list"]]
        documents += [(b"key list", text) for text in lists] + [(b"address", case["address"])]
        for kind, text in documents:
            document, signature, end = text.split("\n")
            said = json.loads(document)
            assert end == "" and canonical(said) == document and said["survey"] == hash_text
            assert signed(signing[said["party"]], kind, document.encode()).hex() == signature
        read_key_list(survey, case["key_list"])
        made = body(case, survey)
        assert made.hex() == case["body"]
        assert seeded_body(case, survey).hex() == case["seeded_body"]["body"]
        hop = signing[f"instance-{case['route']['instance']}-hop-1"]
        route = bytes.fromhex(hash_text)
        route += struct.pack(">IQI", *(case["route"][field] for field in ("label", "epoch", "instance")))
        receipt = bytes.fromhex(case["receipt"])
        read_receipt(survey, case["route"], made, receipt)
        assert receipt[:80] == route + hashlib.sha256(made).digest() and len(receipt) == 88 + 1 + 4 * 32 + 64
        assert receipt[217:] == signed(hop, b"receipt tree", root(receipt[:88], receipt[88], receipt[89:217]))
        named = b"".join(hashlib.sha256(text.split("\n")[0].encode()).digest() for text in lists)
        salted = bytes.fromhex(case["batch_count"])
        commitment = hashlib.sha256(b"throng-v1 batch count\0" + salted).digest()
        assert len(salted) == 40
        for name, outcome, received, forwarded in (
            ("statement_released", 1, 9000, struct.pack(">24xQ", 9000)),
            ("statement_destroyed", 2, 0, bytes(32)),
            ("statement_committed", 3, 9000, commitment),
            ("statement_without_cover", 4, 0, commitment),
        ):
            statement = bytes.fromhex(case[name])
            assert statement[:53] == route + struct.pack(">IB", 1, outcome) and len(statement) == 197 + 64
            respondents = 0 if outcome == 2 else 3000
            assert statement[53:101] == struct.pack(">QQ", respondents, received) + forwarded
            assert (outcome == 2) == (statement[101:133] == bytes(32)) and statement[133:197] == named
            assert statement[197:] == signed(hop, b"epoch statement", statement[:197])
    count = check_refused(vectors["refused"])
    print(f"{len(vectors['cases'])} cases: all bytes are reproduced; {count} more are refused")


if __name__ == "__main__":
    main()
