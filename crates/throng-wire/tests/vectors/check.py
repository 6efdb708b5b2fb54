"""Checks wire.json with Python alone: canonical JSON, Ed25519 and HPKE written out from docs/wire-format.md.

A client in another language does what `seal` and `body` do here. Needs the package `cryptography`:
    python3 crates/throng-wire/tests/vectors/check.py
"""

import hashlib
import hmac
import json
import pathlib
import struct
import tomllib

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

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
    """ECMAScript's form of the numbers that occur here."""
    if isinstance(value, int):
        return str(value)
    text = repr(value)
    if text.endswith(".0"):
        return text[:-2]
    if "e" in text:
        mantissa, exponent = text.split("e")
        exponent = int(exponent)
        if exponent >= -6:
            digits = mantissa.replace(".", "")
            return "0." + "0" * (-exponent - 1) + digits
        return f"{mantissa}e{exponent:+d}"
    return text


def canonical(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(json.dumps(n, ensure_ascii=False) + ":" + canonical(value[n]) for n in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
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


def body(case, survey):
    """A body, from the survey, the public keys and the randomness alone."""
    route = case["route"]
    hops = survey["delivery"]["hops"]
    keys = {}
    for key in case["layer_keys"]:  # the key that began last
        if key["first_epoch"] <= route["epoch"] <= key["last_epoch"]:
            keys[key["party"]] = key

    def layer(hop, plaintext, ikm_e):
        party = f"instance-{route['instance']}-hop-{hop}" if hop else "analyzer"
        key = keys[party]
        aad = bytes.fromhex(case["survey_hash"])
        aad += struct.pack(">IQIIB", route["label"], route["epoch"], route["instance"], hop, key["id"])
        sealed = seal(bytes.fromhex(key["public"]), b"throng-v1 layer", aad, plaintext, bytes.fromhex(ikm_e))
        return bytes([key["id"]]) + sealed

    envelopes = b""
    for envelope in case["envelopes"]:
        random = iter([seal["ikm_e"] for seal in envelope["seals"]])
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
    return layer(1, envelopes, case["body_seal"]["ikm_e"])


def main():
    vectors = json.loads(pathlib.Path(__file__).with_name("wire.json").read_text())
    for case in vectors["cases"]:
        survey = tomllib.loads(case["survey_toml"])
        assert canonical(survey) == case["survey_json"]
        survey_hash = hashlib.sha256(case["survey_json"].encode()).hexdigest()
        assert survey_hash == case["survey_hash"]
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
            assert end == "" and canonical(said) == document and said["survey"] == survey_hash
            assert signed(signing[said["party"]], kind, document.encode()).hex() == signature
        made = body(case, survey)
        assert made.hex() == case["body"]
        hop = signing[f"instance-{case['route']['instance']}-hop-1"]
        route = bytes.fromhex(survey_hash)
        route += struct.pack(">IQI", *(case["route"][field] for field in ("label", "epoch", "instance")))
        receipt = bytes.fromhex(case["receipt"])
        assert receipt[:80] == route + hashlib.sha256(made).digest() and len(receipt) == 88 + 1 + 4 * 32 + 64
        assert receipt[217:] == signed(hop, b"receipt tree", root(receipt[:88], receipt[88], receipt[89:217]))
        named = b"".join(hashlib.sha256(text.split("\n")[0].encode()).digest() for text in lists)
        for name, outcome in (("statement_released", 1), ("statement_destroyed", 2)):
            statement = bytes.fromhex(case[name])
            assert statement[:53] == route + struct.pack(">IB", 1, outcome) and len(statement) == 173 + 64
            assert (outcome == 2) == (statement[53:109] == bytes(56)) and statement[109:173] == named
            assert statement[173:] == signed(hop, b"epoch statement", statement[:173])
    print(f"{len(vectors['cases'])} cases: all bytes are reproduced")


if __name__ == "__main__":
    main()
