"""Makes the requests of scores.mjs, with requests and requests-cache, or with httpx and hishel.

    python_client.py requests|httpx [NAME=ADDRESS...]
"""
import json
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

library, *addresses = sys.argv[1:]
addresses = dict(argument.split("=", 1) for argument in addresses)
resolve = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: resolve(addresses.get(host, host), *rest, **more)


def make_requests_session():
    import requests_cache

    # its other settings ignore the server's fields
    return requests_cache.CachedSession(backend="memory", cache_control=True, expire_after=0, allowable_methods=["GET", "HEAD"])


def make_httpx_session():
    import sqlite3

    import hishel
    from hishel.httpx import CacheClient

    # the cache of one user, with the rules of RFC 9111
    storage = hishel.SqliteStorage(connection=sqlite3.connect(":memory:", check_same_thread=False))
    return CacheClient(storage=storage, rfc=hishel.CacheOptions(shared=False))


def send(session, question):
    fields = question.get("fields") or []
    body = question.get("body")
    if body is not None:
        body = body.encode()
    follows = question["followsRedirects"]
    if library == "httpx":
        response = session.request(
            question["method"], question["url"], headers=fields, content=body, follow_redirects=follows
        )
        received = response.headers.multi_items()
    else:
        joined = {}
        for name, value in fields:
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        response = session.request(
            question["method"], question["url"], headers=joined, data=body, allow_redirects=follows
        )
        received = response.headers.items()
    return {"status": response.status_code, "fields": list(received), "body": response.text}


sessions = {}
lock = threading.Lock()


def session_of(name):
    with lock:
        if name not in sessions:
            make = make_httpx_session if library == "httpx" else make_requests_session
            sessions[name] = (make(), threading.Lock())
        return sessions[name]


def answer(question):
    try:
        session, turn = session_of(question["session"])
        with turn:
            result = send(session, question)
    except Exception as error:  # any error of a library is its answer
        result = {"error": f"{type(error).__name__}: {error}"}
    with lock:
        print(json.dumps({"id": question["id"], **result}), flush=True)


with ThreadPoolExecutor(32) as pool:
    for line in sys.stdin:
        pool.submit(answer, json.loads(line))
