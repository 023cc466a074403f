// Handlers of a server framework that pass requests on to another server, with bodies that are never in memory as a
// whole. The types of the frameworks are stand-ins here, with the names of theirs: the two functions were also run
// with Hummingbird 2.26 and Vapor 4.122, except for the line that makes the request.

import Martlet
import MartletTesting
import Synchronization

// MARK: - Hummingbird 2

/// Passes a request on, in both directions at the pace of the slower side.
func passOn(_ incoming: Hummingbird.Request, to origin: Origin, in session: HTTPSession) async throws
  -> Hummingbird.Response
{
  // Path and query as they were received, after a slash of our own: no target changes the host.
  var request = Martlet.HTTPRequest(.post, "\(origin)/\(incoming.uri.string.dropFirst())")
  // `readableBytesView` is the collection of a ByteBuffer's bytes.
  request.body = .singleUse(chunks: incoming.body.map(\.readableBytesView))
  let (body, response) = try await session.bytes(for: request)
  return Hummingbird.Response(
    status: .init(code: response.status.code), body: .init(asyncSequence: body.map { ByteBuffer(bytes: $0) }))
}

// MARK: - Vapor 4

/// The same for a route that was added with `body: .stream`.
func passOn(_ incoming: Vapor.Request, to origin: Origin, in session: HTTPSession) async throws -> Vapor.Response {
  var request = HTTPRequest(.post, "\(origin)/\(incoming.url.string.dropFirst())")
  request.body = .singleUse(chunks: incoming.body.map(\.readableBytesView))
  let (body, response) = try await session.bytes(for: request)
  return Vapor.Response(
    status: .init(statusCode: response.status.code),
    body: .init(managedAsyncStream: { writer in
      for try await chunk in body { try await writer.writeBuffer(ByteBuffer(bytes: chunk)) }
    }))
}

// MARK: - Stand-ins, in the shapes of SwiftNIO, Hummingbird and Vapor

struct ByteBuffer: Sendable {
  var readableBytesView: ArraySlice<UInt8>

  init(bytes: some Sequence<UInt8>) { readableBytesView = ArraySlice(bytes) }
}

enum Hummingbird {
  struct Request: Sendable {
    var uri: Path
    var body: AsyncStream<ByteBuffer>
  }

  struct Path: Sendable {
    var string: String
  }

  struct Response: Sendable {
    var status: Status
    var body: ResponseBody
  }

  struct Status: Sendable {
    var code: Int
  }

  struct ResponseBody: Sendable {
    let collect: @Sendable () async throws -> [UInt8]

    init<Buffers: AsyncSequence & Sendable>(asyncSequence: Buffers) where Buffers.Element == ByteBuffer {
      collect = { try await asyncSequence.reduce(into: []) { $0 += $1.readableBytesView } }
    }
  }
}

protocol AsyncBodyStreamWriter: Sendable {
  func writeBuffer(_ buffer: ByteBuffer) async throws
}

enum Vapor {
  struct Request: Sendable {
    var url: Hummingbird.Path
    var body: AsyncStream<ByteBuffer>
  }

  struct Status: Sendable {
    var statusCode: Int
  }

  struct Response: Sendable {
    var status: Status
    var body: Body

    struct Body: Sendable {
      let write: @Sendable (any AsyncBodyStreamWriter) async throws -> Void

      init(managedAsyncStream write: @escaping @Sendable (any AsyncBodyStreamWriter) async throws -> Void) {
        self.write = write
      }
    }
  }
}

final class Received: AsyncBodyStreamWriter {
  let bytes = Mutex<[UInt8]>([])

  func writeBuffer(_ buffer: ByteBuffer) async { bytes.withLock { $0 += buffer.readableBytesView } }
}

func upload() -> AsyncStream<ByteBuffer> {
  AsyncStream { stream in
    for word in ["one ", "two ", "three"] { stream.yield(ByteBuffer(bytes: word.utf8)) }
    stream.finish()
  }
}

let target = Hummingbird.Path(string: "/of%20words?in=capitals")
let backend = try LoopbackServer { .text("\($0.target): \($0.text.uppercased())", status: .created) }
let session = HTTPSession()
guard let origin = Origin(backend.url) else { fatalError("the server has no origin") }

let first = try await passOn(Hummingbird.Request(uri: target, body: upload()), to: origin, in: session)
print(first.status.code, String(decoding: try await first.body.collect(), as: UTF8.self))

let second = try await passOn(Vapor.Request(url: target, body: upload()), to: origin, in: session)
let received = Received()
try await second.body.write(received)
print(second.status.statusCode, received.bytes.withLock { String(decoding: $0, as: UTF8.self) })

// Prints:
// 201 /of%20words?in=capitals: ONE TWO THREE
// 201 /of%20words?in=capitals: ONE TWO THREE
