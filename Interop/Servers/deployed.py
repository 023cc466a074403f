"""A service as it is deployed, for ASGI servers: the files of a folder over https, and numbered events.

The environment names the folder (FILES). The path /events has events of the numbers after `Last-Event-ID`, one each
20 ms. While there is a file `refusal` in the folder, its content is the status of /events, with `Retry-After: 1`."""
import asyncio, os, pathlib

FILES = pathlib.Path(os.environ["FILES"])


async def reply(send, body, status=200, fields=()):
  await send({"type": "http.response.start", "status": status, "headers": [
    (b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body)), *fields]})
  await send({"type": "http.response.body", "body": body})


async def send_events(last, receive, send):
  await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
  await send({"type": "http.response.body", "body": b"retry: 500\n\n", "more_body": True})
  left = asyncio.ensure_future(until_left(receive))
  while not left.done():
    last += 1
    event = b"id: %d\ndata: %d\n\n" % (last, last)
    await send({"type": "http.response.body", "body": event, "more_body": True})
    await asyncio.sleep(0.02)


async def until_left(receive):
  while (await receive())["type"] != "http.disconnect": pass


async def app(scope, receive, send):
  if scope["type"] != "http": return
  fields = dict(scope["headers"])
  path = scope["path"]
  if path == "/events":
    refusal = FILES / "refusal"
    if refusal.exists():
      await reply(send, b"later", int(refusal.read_text()), [(b"retry-after", b"1")])
    else:
      await send_events(int(fields.get(b"last-event-id", b"0")), receive, send)
  elif scope["scheme"] == "http":
    host = fields[b"host"].split(b":")[0]
    await reply(send, b"", 301, [(b"location", b"https://" + host + path.encode())])
  else:
    file = FILES / path.lstrip("/")
    policy = [(b"strict-transport-security", b"max-age=31536000")]
    if file.is_file(): await reply(send, file.read_bytes(), 200, policy)
    else: await reply(send, b"no", 404, policy)
