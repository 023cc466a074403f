#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing
@testable import MartletSockets

/// Records the events of one stream, as lines of text, and provides its body.
final class HTTP2Recorder: HTTP2StreamHandler {
  /// One line per event; the pieces of a body are joined.
  private(set) var events: [String] = [] {
    didSet { if let last = events.last { onEvent?(last) } }
  }
  private(set) var failure: HTTP2Failure?
  private(set) var body: [UInt8] = []
  private(set) var contentLength: Int64?
  private(set) var head: ResponseHead?
  /// The parts of the request's body; nil is a pause.
  var parts: [HTTP2TestPart] = []
  /// Called with each piece of the response's body.
  var onBody: ((Int) -> Void)?
  /// Called after each other event.
  var onEvent: ((String) -> Void)?
  private(set) var readCount = 0
  private(set) var isSent = false

  func received(informational head: [UInt8], status: Int) { events.append("informational \(text(head))") }

  func received(head: [UInt8], status: Int, contentLength: Int64?) {
    self.head = ResponseHead(lines: head)
    self.contentLength = contentLength
    events.append("head \(text(head))")
  }

  func received(body bytes: UnsafeRawBufferPointer) {
    if body.isEmpty { events.append("body") }
    body.append(contentsOf: bytes)
    onBody?(bytes.count)
  }

  func ended(trailers: [UInt8]) { events.append(trailers.isEmpty ? "end" : "end \(text(trailers))") }

  func failed(_ failure: HTTP2Failure) {
    self.failure = failure
    events.append("failed \(failure.error.kind) \(failure.error.phase?.rawValue ?? "-") \(failure.error.delivery)")
  }

  func readBody(into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
    readCount += 1
    guard let part = parts.first else { return .later }
    switch part {
    case .pause:
      parts.removeFirst()
      return .later
    case .failure: return .failed
    case .bytes(let bytes, let ending):
      let count = min(room.count, bytes.count)
      room.copyBytes(from: bytes[..<count])
      guard count == bytes.count else {
        parts[0] = .bytes(Array(bytes[count...]), ending)
        return .bytes(count)
      }
      parts.removeFirst()
      switch ending {
      case .more: return .bytes(count)
      case .end: return .end(count)
      case .trailers(let fields): return .endWithTrailers(count, fields)
      }
    }
  }

  func sentRequest() { isSent = true }

  var bodyText: String { String(decoding: body, as: UTF8.self) }

  private func text(_ lines: [UInt8]) -> String {
    String(decoding: lines, as: UTF8.self).replacing("\r\n", with: "|")
  }
}

/// A part of a request's body.
enum HTTP2TestPart {
  case pause
  case failure
  case bytes([UInt8], Ending)

  enum Ending {
    case more
    case end
    case trailers(HTTP2Fields)
  }
}

/// A session with its recorder, and the bytes that it wants to send.
final class HTTP2Client {
  let session: HTTP2Session
  /// Called after received bytes that may have changed the capacity.
  var onNewCapacity: (() -> Void)?
  var output = SendBuffer()
  var now: UInt64 = 1_000_000_000

  init(_ settings: HTTP2Settings = HTTP2Settings()) throws {
    session = try HTTP2Session(peer: "host:443", settings: settings)
  }

  /// How many requests the server takes now.
  var capacity: Int { session.isDraining ? 0 : max(0, session.streamLimit - session.streams.count) }

  /// Submits a request and returns its stream and its recorder.
  @discardableResult
  func submit(
    _ method: HTTPMethod = .get, _ path: String = "/", fields: HTTPFields = [:],
    framing: RequestFraming = .none, parts: [HTTP2TestPart] = [], headLimit: Int = 256 << 10
  ) throws -> (id: Int32, recorder: HTTP2Recorder) {
    let url = try #require(URL(string: "https://host.example\(path)"))
    let origin = try #require(Origin(url))
    let head = try HTTP2RequestHead(HTTPRequest(method, url, fields: fields), origin: origin, framing: framing)
    let recorder = HTTP2Recorder()
    recorder.parts = parts
    return (try session.submit(head, headLimit: headLimit, handler: recorder), recorder)
  }

  /// Passes bytes in pieces of a size. Returns the error of the connection.
  @discardableResult
  func receive(_ bytes: [UInt8], pieces size: Int = .max) -> HTTPError? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(size)
      rest = rest.dropFirst(piece.count)
      do throws(HTTPError) {
        try receive(piece: piece)
      } catch {
        _ = pull()
        return error
      }
      if let error = pull() { return error }
    }
    return nil
  }

  private func receive(piece: ArraySlice<UInt8>) throws(HTTPError) {
    let result = piece.withUnsafeBytes { bytes in
      Result { () throws(HTTPError) in try session.receive(bytes, now: now) }
    }
    try result.get()
    if session.hasNewCapacity, let onNewCapacity {
      session.hasNewCapacity = false
      onNewCapacity()
    }
  }

  /// Moves available bytes to ``output``. Returns the error of the connection.
  @discardableResult
  func pull(upTo limit: Int = .max) -> HTTPError? {
    do throws(HTTPError) {
      try session.pull(into: &output, upTo: limit)
      return nil
    } catch { return error }
  }

  /// Removes and returns the bytes to send.
  func takeOutput() -> [UInt8] {
    let bytes = output.withUnsafeBytes { Array($0) }
    output.consume(bytes.count)
    return bytes
  }
}
#endif
