"""Requests replies from a server with a Python client, and prints the client's result for each.

    python_clients.py httpx|aiohttp URL FILE      the file has lines `NUMBER METHOD`, each for a request to URL + NUMBER

A line of JSON for each request:

    {"number": N, "status": 200, "fields": ["name: value"], "body": BASE64}
    {"number": N, "refused": TEXT}

Every request has its own connection, and nothing is decoded or followed.
"""

import asyncio
import base64
import codecs
import json
import sys


def undecodable(error):
    """A byte of a cookie that is not UTF-8 is shown in Martlet's form, as a character for private use."""
    return "".join(chr(0x10FF00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error("private use", undecodable)


def line(name, value):
    try:
        return name.decode() + ": " + value.decode(errors="private use" if name.lower() == b"set-cookie" else "strict")
    except UnicodeDecodeError:
        return name.decode("latin-1") + ": " + value.decode("latin-1")


def answer(number, status, fields, body):
    lines = [line(name, value) for name, value in fields]
    return {"number": number, "status": status, "fields": lines, "body": base64.b64encode(body).decode()}


def refusal(number, error):
    return {"number": number, "refused": f"{type(error).__name__}: {error}"}


def ask_httpx(url, requests):
    import httpx

    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(trust_env=False, limits=limits, timeout=30) as client:
        for number, method in requests:
            try:
                with client.stream(method, f"{url}{number}", headers={"Accept-Encoding": "identity"}) as response:
                    body = b"".join(response.iter_raw())
                    yield answer(number, response.status_code, response.headers.raw, body)
            except httpx.HTTPError as error:
                yield refusal(number, error)


async def ask_aiohttp(url, requests, show):
    import aiohttp

    connector = aiohttp.TCPConnector(force_close=True)
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        for number, method in requests:
            try:
                async with session.request(method, f"{url}{number}", allow_redirects=False) as response:
                    show(answer(number, response.status, response.raw_headers, await response.read()))
            except (aiohttp.ClientError, ValueError) as error:
                show(refusal(number, error))


def show(outcome):
    print(json.dumps(outcome), flush=True)


def main():
    client, url, file = sys.argv[1:]
    with open(file) as lines:
        requests = [(int(number), method) for number, method in (line.split() for line in lines)]
    if client == "httpx":
        for outcome in ask_httpx(url, requests):
            show(outcome)
    else:
        asyncio.run(ask_aiohttp(url, requests, show))


main()
