"""Writes the first inputs of the fuzzing targets, Corpus, from the tables of our tests: python3 Fuzz/corpus.py

Each target has a folder in Corpus; that of the pictures is a link to the fixtures of the tests. An input ends with the
bytes that choose among variants (Sources/fuzz/Input.swift).
"""
import json, os, shutil, struct, subprocess, sys, tempfile

os.chdir(os.path.dirname(os.path.abspath(__file__)))
TABLES = "../Client/Tests/MartletTransportTests"


TEXTS = [
    "a=b; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=60; SameSite=Lax; Secure; HttpOnly",
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "2026-01-02T03:04:05.678+01:00", 'text/html; charset="utf-8"; q=0.5', "bytes 0-499/1234", "de-CH-1996, en;q=0.5",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "<https://a.example/?page=2>; rel=\"next\"; title*=UTF-8''a",
    'Digest realm="a", nonce="b", qop="auth,auth-int", algorithm=SHA-256, Basic realm="c"',
    'Bearer error="invalid_token", error_description="it expired"',
    'machine a.example login anna password "a b"\ndefault login x',
    ".a.example\tTRUE\t/\tFALSE\t1893456000\tname\tvalue\n#HttpOnly_b.example\tFALSE\t/p\tTRUE\t0\tn\tv",
    'max-age=60, private="set-cookie", no-cache, stale-while-revalidate=30', '"default";r=0;t=30',
    "limit=100, remaining=0, reset=30", "127.1", "::ffff:192.0.2.1", "b\u00fccher.example", "xn--bcher-kva.example",
    "a=b&c=%20d+e&%ff", "/a/%2e%2e/./b", "utf-16be",
]
JSON = [
    r'{"a": [1, 2.5e3, true, null, "\u00e4\n"], "password": "x"}', "[[[[{}]]]]", "-0.1E+2", r'"\ud83d\ude00"',
    '{"access_token":"a","token_type":"Bearer","expires_in":"60"}', "a=b&password=c",
    '{"error":"invalid_grant","error_description":"no"}',
    '{"device_code":"a","user_code":"b","verification_uri":"http://a.example/","expires_in":60,"interval":5}',
]


def fill(target, inputs, longest=1500):
    """Replaces the files of a target with some of these: short, different and evenly distributed."""
    folder = f"Corpus/{target}"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    inputs = sorted({data for data in inputs if len(data) <= longest}, key=lambda data: (len(data), data))
    for number in range(min(24, len(inputs))):
        with open(f"{folder}/{number:02}", "wb") as file:
            file.write(inputs[number * len(inputs) // min(24, len(inputs))])


def octets(value):
    """The bytes of a text in the table of responses: each character is one."""
    if isinstance(value, str): return value.encode("latin-1", "replace")
    if isinstance(value, list): return b"".join(octets(part) for part in value)
    return value.get("repeat", "").encode() * min(3, value.get("times", 0))


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A field without indexing and without Huffman coding (RFC 7541 §6.2.2)."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def http2():
    settings = frame(4, 0, 0, struct.pack(">HI", 3, 100))
    ok = literal(":status", "200")
    script = bytes(range(3, 255, 16))
    answers = [
        frame(1, 5, 1, ok),
        frame(1, 5, 1, b"\x88"),
        frame(1, 4, 1, ok + literal("content-length", "4")) + frame(0, 1, 1, b"body"),
        frame(1, 4, 1, literal(":status", "103") + literal("link", "<a>")) + frame(1, 4, 1, ok)
        + frame(0, 9, 1, b"\2ab\0\0"),
        frame(1, 4, 1, ok) + frame(0, 0, 1, b"x" * 100) + frame(1, 5, 1, literal("t", "trailer")),
        frame(1, 0, 1, ok[:4]) + frame(9, 4, 1, ok[4:]) + frame(0, 1, 1),
        frame(1, 5, 3, ok) + frame(3, 0, 3, struct.pack(">I", 0)) + frame(1, 5, 5, ok),
        frame(3, 0, 1, struct.pack(">I", 7)) + frame(8, 0, 0, struct.pack(">I", 70000)),
        frame(7, 0, 0, struct.pack(">II", 1, 0) + b"bye") + frame(1, 5, 1, ok),
        frame(6, 0, 0, b"12345678") + frame(4, 1, 0) + frame(2, 0, 1, b"\0\0\0\0\5"),
        frame(5, 4, 1, struct.pack(">I", 2) + ok),
        frame(1, 5, 1, b"\x20" + b"\x88" + b"\x40\1a\1b\xbe"),
    ]
    return [settings + answer + script for answer in answers] + [answers[2] + script]


def keys():
    """Containers for the password of the target, in PKCS#12 of several kinds, PEM and DER."""
    with tempfile.TemporaryDirectory() as folder:
        def openssl(*arguments):
            subprocess.run(("openssl", *arguments), check=True, cwd=folder, capture_output=True)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a",
                "-keyout", "key", "-out", "pem", "-days", "36500")
        for name, more in [
            ("aes", []), ("legacy", ["-legacy"]), ("nomac", ["-nomac"]),
            ("plain", ["-certpbe", "NONE", "-keypbe", "NONE"]),
            ("old", ["-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES", "-macalg", "sha1"]),
        ]:
            # few iterations: a run takes less time
            openssl("pkcs12", "-export", "-in", "pem", "-inkey", "key", "-out", name, "-passout", "pass:correct horse",
                    "-iter", "2", *more)
        openssl("x509", "-in", "pem", "-outform", "der", "-out", "der")
        files = ["key", "pem", "aes", "legacy", "plain", "nomac", "old", "der"]
        return [open(f"{folder}/{name}", "rb").read() for name in files]


def archives():
    entry = {
        "startedDateTime": "2026-01-02T03:04:05.678Z", "time": 12.5,
        "request": {"method": "POST", "url": "http://a.example/b?c=d", "httpVersion": "HTTP/1.1", "cookies": [],
                    "headers": [{"name": "Accept", "value": "*/*"}], "queryString": [{"name": "c", "value": "d"}],
                    "postData": {"mimeType": "text/plain", "text": "e"}, "headersSize": -1, "bodySize": 1},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], "redirectURL": "",
                     "cookies": [{"name": "f", "value": "g", "expires": "2026-01-02T03:04:05Z"}],
                     "content": {"size": 2, "mimeType": "image/png", "text": "aGk=", "encoding": "base64"},
                     "headersSize": -1, "bodySize": -1},
        "cache": {}, "timings": {"send": 1, "wait": 2, "receive": 3}, "serverIPAddress": "192.0.2.1", "connection": "7",
    }
    get = {"request": {"method": "GET", "url": "http://a.example/"}, "response": {"status": 0, "_error": "lost"}}
    logs = [[], [entry], [get], [entry, get, entry]]
    creator = {"name": "Martlet", "version": "1"}
    archives = [{"log": {"version": "1.2", "creator": creator, "entries": entries}} for entries in logs]
    archives += [{"log": {"pages": [{"id": "1", "title": "t", "startedDateTime": "x", "pageTimings": {}}]}}]
    return [json.dumps(archive).encode() for archive in archives]


def text(value): return struct.pack(">I", len(value)) + value.encode()


def records():
    """A record of the cache in Redis without its checksum, the text of a head in SQLite, and cookies and tokens in JSON."""
    start = b"\1" + bytes(range(16)) + struct.pack(">dIQ", 700000000.5, 0, 5)
    rest = text("https://a.example/") + text("me") + text("") + struct.pack(">d", 7e8) + b"\0" + text("HTTP/1.1")
    fields = text("Content-Type") + text("text/plain") + text("ETag") + text('"x"')
    cookie = {"name": "a", "value": "b", "domain": "a.example", "isHostOnly": True, "path": "/", "isSecure": False,
              "isHTTPOnly": True, "sameSite": "lax", "created": 7e8, "lastAccessed": 7e8, "expires": 8e8}
    token = {"value": "abc", "type": "Bearer", "expires": 8e8, "refreshToken": "def", "access_token": "abc"}
    heads = [b"HTTP/1.1 200\nContent-Type:text/plain\nX:", b"- 404"]
    ok, missing = struct.pack(">I", 200) + fields, struct.pack(">I", 404)
    return [start + rest + ok, start + rest + missing, *heads,
            json.dumps(cookie).encode(), json.dumps(token).encode()]


def redis():
    """Answers of a Redis server, which end with the choices of a limit and of two places."""
    answers = [b"+OK\r\n", b"-ERR no\r\n", b":-12\r\n", b"$-1\r\n", b"$5\r\nhello\r\n", b"*-1\r\n", b"*0\r\n",
               b"*2\r\n$2\r\n17\r\n*2\r\n$1\r\na\r\n$0\r\n\r\n", b"*1\r\n*1\r\n*1\r\n+a\r\n"]
    return [answer + b"\x40\x90\0" for answer in [*answers, b"".join(answers)]]


messages = json.load(open(f"{TABLES}/Messages/messages.json"))["messages"]
responses = [b"".join(octets(part) for part in message["sends"]) for message in messages]
fill("http1", [response + bytes([9, 99, 0, 0, 1, 0]) for response in responses], 400)
fill("http2", http2())
fill("urls", [row["url"].encode() for row in json.load(open(f"{TABLES}/URLs/urls.json"))["urls"]])
fill("upgrades", [b"hello\1\2\0", b"\0\1\0", responses[0] + b"\7\x80\2", responses[20] + b"\0\0\2"])
# frames, which end with the choices of two places, a limit and an agreement
hello = b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00"
fill("websocket", [
    b"\x81\x05Hello\x89\x01?\x02\x02ab\x80\x01c\x88\x05\x03\xe8bye\0\0\0\0",
    hello + b"\xc1\x05\xf2\x00\x11\x00\x00" + b"\x40\x90\0\1", hello + hello + b"\0\0\1\2",
    b"\x01\x03\xe2\x82\xac\x80\x00\x82\x7e\x00\x80" + b"x" * 128 + b"\x8a\x00\1\2\0\0",
    b"\x81\x02\xc0\x80\0\0\0\0", b"\x83\x00\0\0\0\0", b"\xc2\x04\xff\xff\xff\xff\0\0\0\1",
])
digest = (b'HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm="x", nonce="n", qop="auth"\r\n'
          b"Content-Length: 2\r\n\r\nno")
established = b"HTTP/1.1 200 Connection established\r\n\r\n"
fill("connect", [
    established + b"SSH-2.0\3\x80\0\0", digest + established + b"\1\2\0\1", digest + digest + b"\1\2\1\2",
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!\0\0\0\1",
    b'HTTP/1.0 407 No\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n\0\0\1\1',
])
fill("socks5", [
    b"\5\0\5\0\0\1\x0a\0\0\1\x12\x34rest\2\3\0", b"\5\2\1\0\5\0\0\3\1a\0\x50\2\3\1",
    b"\5\0\5\5\5\0\5\4\5\0\5\0\0\4" + b"\7" * 18 + b"\2\3\6", b"\5\xff\0\0\0", b"\4\0\0\0\1",
])
fill("text", [line.encode() for line in TEXTS])
fill("json", [line.encode() for line in JSON])
fill("events", [
    b"event: a\ndata: b\ndata: c\nid: 1\nretry: 500\n\n: comment\r\n\r\n\3\x80\0",
    b"\xef\xbb\xbfdata\r\rdata:x\r\n\r\n\0\0\0", b"id: 1\0\ndata: abcdefghijklmnop\n\nlast\5\x50\2",
])
fill("archives", archives(), 4000)
fill("redis", redis())
fill("records", records())
fill("sqlite", [
    bytes([0, 0x40, 1, 1]) + b"\0\0", bytes([0, 0x10, 5, 0xff, 0, 0x20, 7, 2]) + b"\0\1",
    bytes([0, 0x50, 0, 0]) + b"\0\2", bytes([0, 0, 18, 3, 0, 0, 30, 4]) + b"\1\0", b"SQLite format 3\0\7\0",
])
fill("keys", keys(), 4000)
os.path.islink("Corpus/images") or os.symlink("../../Images/Tests/MartletImagesTests/Fixtures", "Corpus/images")
