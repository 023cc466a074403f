"""WebSocket servers that return each message: peers.py KIND PORT [CERTIFICATE KEY [AUTHORITY OF CLIENTS]]"""
import asyncio, ssl, sys

kind, port, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
tls = None
if files:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*files[:2])
if len(files) > 2:
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(files[2])
LIMIT = 64 << 20


async def websockets():
    from websockets.asyncio.server import serve

    async def echo(connection):
        async for message in connection:
            await connection.send(message)

    async with serve(echo, "127.0.0.1", port, ssl=tls, subprotocols=["chat"], max_size=LIMIT):
        await asyncio.Future()


async def aiohttp():
    from aiohttp import WSMsgType, web

    async def echo(request):
        socket = web.WebSocketResponse(protocols=["chat"], max_msg_size=LIMIT)
        await socket.prepare(request)
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                await socket.send_str(message.data)
            elif message.type == WSMsgType.BINARY:
                await socket.send_bytes(message.data)
        return socket

    app = web.Application()
    app.router.add_get("/{path:.*}", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    await asyncio.Future()


async def hypercorn():
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    async def echo(scope, receive, send):
        if scope["type"] != "websocket":
            return
        await receive()
        await send({"type": "websocket.accept", "subprotocol": "chat"})
        while (event := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": event.get("text"), "bytes": event.get("bytes")})

    config = Config()
    config.bind, config.websocket_max_message_size = [f"127.0.0.1:{port}"], LIMIT
    if files:
        config.certfile, config.keyfile = files[:2]
    await serve(echo, config)


asyncio.run({"websockets": websockets, "aiohttp": aiohttp, "hypercorn": hypercorn}[kind]())
