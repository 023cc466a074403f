// An upload that continues where it stopped, by tus 1.0, over the public API, with a server that loses connections.

import Martlet
import MartletTesting
import Synchronization

// MARK: - The client

/// An upload at a tus server: https://tus.io/protocols/resumable-upload. Keep it in a file, and an upload can continue
/// when the program runs again.
struct Upload: Codable {
  let url: URL

  private static let version: HTTPFields = ["Tus-Resumable": "1.0.0"]

  struct ProtocolViolation: Error {
    let problem: String
  }

  /// Asks the server for an upload of this length (the extension Creation).
  static func create(at endpoint: URL, length: Int, in session: HTTPSession) async throws -> Upload {
    var request = HTTPRequest(.post, endpoint, fields: version)
    request.fields["Upload-Length"] = String(length)
    let response = try await session.data(for: request, expecting: .only([.created])).1
    guard let location = response.fields[.location],
      let url = URL(string: location, relativeTo: response.url)?.absoluteURL
    else { throw ProtocolViolation(problem: "the server names no Location for the upload") }
    return Upload(url: url)
  }

  /// Sends what the server does not have. After a loss of the connection, or a conflict (409), it asks the server for
  /// its offset, and sends the rest.
  func send(_ data: Data, in session: HTTPSession, lossLimit: Int = 5) async throws {
    var losses = 0
    var offset = try await offset(of: data.count, in: session)
    while offset < data.count {
      do {
        let next = try await append(data.dropFirst(offset), at: offset, of: data.count, in: session)
        guard next > offset else { throw ProtocolViolation(problem: "the server stores nothing") }
        offset = next
      } catch let error as HTTPError where error.isTransient || error.response?.status == .conflict {
        losses += 1
        guard losses <= lossLimit else { throw error }
        offset = try await self.offset(of: data.count, in: session)
        print("stopped by \(error.kind); the server has", offset)
      }
    }
  }

  /// The number of bytes that the server has.
  private func offset(of length: Int, in session: HTTPSession) async throws -> Int {
    let request = HTTPRequest(.head, url, fields: Self.version)
    return try Self.offset(in: try await session.data(for: request, expecting: .successful).1, of: length)
  }

  private func append(_ rest: Data, at offset: Int, of length: Int, in session: HTTPSession) async throws -> Int {
    var request = HTTPRequest(.patch, url, fields: Self.version, body: .data(rest))
    request.fields[.contentType] = "application/offset+octet-stream"
    request.fields["Upload-Offset"] = String(offset)
    return try Self.offset(in: try await session.data(for: request, expecting: .only([.noContent])).1, of: length)
  }

  private static func offset(in response: HTTPResponse, of length: Int) throws -> Int {
    guard let offset = response.fields["Upload-Offset"].flatMap(Int.init), (0...length).contains(offset) else {
      throw ProtocolViolation(problem: "the server sends no valid Upload-Offset")
    }
    return offset
  }
}

// MARK: - A server

/// The stored bytes, and how many connections are lost before one works.
final class Storage: Sendable {
  private let state = Mutex((bytes: Data(), length: 0, losses: 2))

  var bytes: Data { state.withLock { $0.bytes } }

  func reply(to request: LoopbackRequest) -> Reply {
    state.withLock { state in
      var fields: HTTPFields = ["Tus-Resumable": "1.0.0", .cacheControl: "no-store"]
      switch request.method {
      case .post:
        state.length = request.fields["Upload-Length"].flatMap(Int.init) ?? 0
        fields[.location] = "/files/1"
        return .status(.created, fields: fields)
      case .patch where request.fields["Upload-Offset"] != String(state.bytes.count):
        return .status(.conflict, fields: fields)
      case .patch where state.losses > 0:
        state.losses -= 1
        state.bytes += request.body.prefix(400_000)  // What had arrived is kept.
        return .hangUp
      case .patch: state.bytes += request.body
      default: fields["Upload-Length"] = String(state.length)
      }
      fields["Upload-Offset"] = String(state.bytes.count)
      return .status(request.method == .patch ? .noContent : .ok, fields: fields)
    }
  }
}

let storage = Storage()
let server = try LoopbackServer { request in storage.reply(to: request) }
let session = HTTPSession()
let film = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 1000) })

let upload = try await Upload.create(at: server.url("/files"), length: film.count, in: session)
try await upload.send(film, in: session)
print(storage.bytes == film)

// Prints:
// stopped by connectionLost; the server has 400000
// stopped by connectionLost; the server has 800000
// true
