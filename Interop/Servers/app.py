"""The contract's paths for ASGI servers. The environment names the file for /bytes: BODY."""
import asyncio, gzip, hashlib, os

TEXT = gzip.compress(b"martlet " * 10_000)
BODY_LIMIT = 1 << 20
PIECE = 64 << 10


async def pieces(receive):
  while True:
    message = await receive()
    if message["type"] == "http.disconnect": raise ConnectionError
    yield message.get("body", b"")
    if not message.get("more_body"): return


async def reply(send, body, status=200, fields=(), trailers=False):
  await send({
    "type": "http.response.start", "status": status, "trailers": trailers,
    "headers": [(b"content-type", b"text/plain"), *fields]})
  await send({"type": "http.response.body", "body": body})


async def sink(receive, send, is_slow):
  digest, size = hashlib.sha256(), 0
  async for piece in pieces(receive):
    size += len(piece)
    digest.update(piece)
    if is_slow: await asyncio.sleep(0.001)
  await reply(send, f"{size} {digest.hexdigest()} ".encode())


async def send_bytes(send, is_slow):
  size = os.path.getsize(os.environ["BODY"])
  fields = [] if is_slow else [(b"content-length", b"%d" % size)]
  await send({"type": "http.response.start", "status": 200, "headers": fields})
  with open(os.environ["BODY"], "rb") as file:
    while piece := file.read(PIECE):
      if is_slow: await asyncio.sleep(0.001)
      await send({"type": "http.response.body", "body": piece, "more_body": True})
  await send({"type": "http.response.body", "body": b""})


async def app(scope, receive, send):
  if scope["type"] != "http": return
  is_slow = b"pace=slow" in scope["query_string"]
  length = int(dict(scope["headers"]).get(b"content-length", b"0"))
  match scope["path"]:
    case "/hello": await reply(send, b"hello", fields=[(b"content-length", b"5")])
    case "/early": await reply(send, b"no", 403)
    case "/small" if length > BODY_LIMIT: await reply(send, b"no", 413)
    case "/sink" | "/small": await sink(receive, send, is_slow)
    case "/bytes": await send_bytes(send, is_slow)
    case "/text": await reply(send, TEXT, fields=[(b"content-encoding", b"gzip")])
    case "/trailers":
      await reply(send, b"body", fields=[(b"trailer", b"x-sum")], trailers=True)
      await send({"type": "http.response.trailers", "headers": [(b"x-sum", b"42")]})
    case _: await reply(send, b"no", 404)
