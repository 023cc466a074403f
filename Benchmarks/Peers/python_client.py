"""A client's process with aiohttp, httpx or websockets: python_client.py NAME AUTHORITY CONNECTIONS.

Prints a greeting, then performs each assignment from a line of JSON on standard input, and prints its measurement.
Exits with status 3 if the library is not installed.
"""
import asyncio
import json
import resource
import ssl
import sys
import time

chunk = bytes(256 << 10)


async def spread(times, tasks, one):
    async def repeat(part):
        return sum([await one() for _ in range(part)])

    parts = [times // tasks + (index < times % tasks) for index in range(tasks)]
    return sum(await asyncio.gather(*map(repeat, parts)))


async def repeated(count):
    while count > 0:
        length = min(count, len(chunk))
        count -= length
        yield chunk[:length]


async def echoes(send, receive, times, at_once, length):
    content = "".join(f'"n":{index % 97},' for index in range(length // 6 + 1)).encode()[:length]
    if at_once * length > 1 << 20:
        return await echoes_beside(send, receive, times, at_once, content)
    sent = received = count = 0
    while received < times:
        while sent < times and sent - received < at_once:
            await send(content)
            sent += 1
        count += len(await receive())
        received += 1
    return count


async def echoes_beside(send, receive, times, at_once, content):
    """Sends in a task of its own, because the buffers on the way may not hold all messages."""
    room = asyncio.Semaphore(at_once)

    async def fill():
        for _ in range(times):
            await room.acquire()
            await send(content)

    sending = asyncio.create_task(fill())
    count = 0
    for _ in range(times):
        count += len(await receive())
        room.release()
    await sending
    return count


class AIOHTTPClient:
    def __init__(self, context, connections):
        self.version = "aiohttp " + aiohttp.__version__
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ssl=context), timeout=aiohttp.ClientTimeout(300)
        )
        self.sockets = {}

    async def fetch(self, url, times, at_once):
        async def one():
            async with self.session.get(url) as response:
                response.raise_for_status()
                return len(await response.read())

        return await spread(times, at_once, one)

    async def download(self, url):
        async with self.session.get(url) as response:
            return sum([len(part) async for part in response.content.iter_any()])

    async def upload(self, count, url):
        fields = {"Content-Length": str(count)}
        async with self.session.put(url, data=repeated(count), headers=fields) as response:
            response.raise_for_status()
            await response.read()

    async def echo(self, url, times, at_once, length, compression):
        if compression not in self.sockets:
            self.sockets[compression] = await self.session.ws_connect(url, compress=15 if compression else 0)
        socket = self.sockets[compression]
        return await echoes(socket.send_bytes, socket.receive_bytes, times, at_once, length)


class HTTPXClient:
    def __init__(self, context, connections):
        self.version = "httpx " + httpx.__version__
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self.client = httpx.AsyncClient(verify=context, limits=limits, timeout=300)

    async def fetch(self, url, times, at_once):
        async def one():
            response = await self.client.get(url)
            response.raise_for_status()
            return len(response.content)

        return await spread(times, at_once, one)

    async def download(self, url):
        async with self.client.stream("GET", url) as response:
            return sum([len(part) async for part in response.aiter_raw()])

    async def upload(self, count, url):
        response = await self.client.put(url, content=repeated(count), headers={"Content-Length": str(count)})
        response.raise_for_status()


class WebSocketsClient:
    def __init__(self, context, connections):
        self.version = "websockets " + websockets.version.version
        self.sockets = {}

    async def echo(self, url, times, at_once, length, compression):
        if compression not in self.sockets:
            self.sockets[compression] = await websockets.connect(url.replace("http", "ws", 1), compression=compression)
        socket = self.sockets[compression]
        return await echoes(socket.send, socket.recv, times, at_once, length)


def memory(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))


def usage():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_minflt


def reset_peak():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


async def perform(client, assignment):
    kind, url = assignment["kind"], assignment["url"]
    if kind == "fetch":
        return await client.fetch(url, assignment["times"], assignment["atOnce"])
    if kind.startswith("echo"):
        compression = "deflate" if kind == "echoCompressed" else None
        return await client.echo(url, assignment["times"], assignment["atOnce"], assignment["length"], compression)
    if kind == "download":
        return await client.download(url)
    await client.upload(assignment["length"], url)
    return assignment["length"]


async def measure(client, assignment):
    reset_peak()
    (processor, faults), start = usage(), time.perf_counter()
    try:
        count = await perform(client, assignment)
        seconds, (processor_after, faults_after) = time.perf_counter() - start, usage()
        return {
            "bytes": count,
            "seconds": seconds,
            "processor": processor_after - processor,
            "pageFaults": faults_after - faults,
            "peak": memory("VmHWM:"),
            "resident": memory("VmRSS:"),
        }
    except Exception as error:
        empty = dict.fromkeys(["bytes", "seconds", "processor", "pageFaults", "peak", "resident"], 0)
        return empty | {"error": repr(error)}


async def main(name, authority, connections):
    context = ssl.create_default_context(cafile=authority)
    clients = {"aiohttp": AIOHTTPClient, "httpx": HTTPXClient, "websockets": WebSocketsClient}
    client = clients[name](context, int(connections))
    print(json.dumps({"version": client.version}), flush=True)
    for line in sys.stdin:
        print(json.dumps(await measure(client, json.loads(line))), flush=True)


try:
    if sys.argv[1] == "aiohttp":
        import aiohttp
    elif sys.argv[1] == "websockets":
        import websockets
    else:
        import httpx
except ImportError:
    sys.exit(3)
asyncio.run(main(*sys.argv[1:]))
