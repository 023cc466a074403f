// A chat over a WebSocket, which is opened again when it is lost; and large messages in pieces.

import Martlet
import MartletTesting
import MartletWebSocket

func listen(at url: String, in session: HTTPSession) async throws(HTTPError) {
  let socket = try await session.webSocket(for: HTTPRequest(.get, url), protocols: ["chat"])
  try await socket.send(.string("Anna is here"))
  for try await message in socket { print(message) }
}

func chat(at url: String, in session: HTTPSession) async throws(HTTPError) {
  let room = session.reconnectingWebSocket(for: HTTPRequest(.get, url), protocols: ["chat"]) { socket in
    try await socket.send(.string("Anna is here"))  // on every connection, before anything else
  }
  for try await message in room { print(message) }
}

let server = try LoopbackServer { request in
  let number = request.connection
  return .webSocket(subprotocol: "chat") { socket in
    guard let greeting = try socket.receive() else { return }
    try socket.send(.string("\(greeting), on connection \(number)"))
    if number == 1 { return try socket.close(.serviceRestart) }
    try socket.close(.normalClosure, reason: "good night")
  }
}

let session = HTTPSession()
try await chat(at: "ws://127.0.0.1:\(server.port)/room", in: session)
try await listen(at: "ws://127.0.0.1:\(server.port)/room", in: session)

// Large messages both ways, in pieces.
let archive = try LoopbackServer { _ in
  .webSocket { socket in
    while let message = try socket.receive() { try socket.send(message) }
  }
}
let socket = try await session.webSocket(for: HTTPRequest(.get, archive.url("/")))
let film = AsyncStream<Data> { stream in
  for _ in 0..<4 { stream.yield(Data(count: 1 << 20)) }
  stream.finish()
}
try await socket.send(.data, from: film)
let message = try await socket.receiveStream()
var count = 0
for try await bytes in message { count += bytes.count }
print(message.type, count)
await socket.close()

// Prints:
// Anna is here, on connection 1
// Anna is here, on connection 2
// Anna is here, on connection 3
// data 4194304
