#if os(Linux)
@testable import MartletEngine
@testable import MartletSemantics
@testable import MartletSockets

/// A server's output over HTTP/2, while requests are submitted, read and reset. Each request has one last event, the
/// output is bounded, and no stream is left at the end of the connection.
enum HTTP2Responses {
  static func run(_ input: inout Input) throws {
    let script = (0..<16).map { _ in input.choice() }
    let client = try Client()
    for isPost in [false, true, false] { try client.submit(isPost: isPost) }
    var rest = input.bytes[...]
    var step = 0
    while !rest.isEmpty, client.pull() {
      let choice = script[step % script.count]
      step += 1
      let piece = rest.prefix(1 + choice * choice / 64)
      rest = rest.dropFirst(piece.count)
      guard client.receive(piece) else { break }
      try client.act(choice)
    }
    _ = client.pull()
    client.session.connectionEnded()
    for (number, stream) in client.streams.enumerated() where !stream.isReset {
      check(stream.ends == 1, "\(stream.ends) last events of request \(number)")
    }
    check(client.session.streams.isEmpty, "streams are left")
  }
}

/// The client's side, with its sent and received data.
private final class Client {
  let session: HTTP2Session
  private(set) var streams: [Stream] = []
  private var output = SendBuffer()
  private let origin: Origin

  init() throws {
    guard let origin = URL(string: "https://host.example/").flatMap(Origin.init) else { fatalError("no origin") }
    self.origin = origin
    session = try HTTP2Session(peer: "host:443")
  }

  func submit(isPost: Bool) throws {
    guard !session.isDraining, session.streams.count < session.streamLimit else { return }
    let request = HTTPRequest(isPost ? .post : .get, "https://host.example/")
    let head = try HTTP2RequestHead(request, origin: origin, framing: isPost ? .unknownLength : .none)
    let stream = Stream()
    stream.id = try session.submit(head, headLimit: 4 << 10, handler: stream)
    streams.append(stream)
  }

  /// Returns whether the connection can be used further.
  func receive(_ piece: ArraySlice<UInt8>) -> Bool {
    piece.withUnsafeBytes { bytes in (try? session.receive(bytes, now: 1_000_000_000)) != nil } && !session.isOver
  }

  func pull() -> Bool {
    let isUsable = (try? session.pull(into: &output, upTo: .max)) != nil
    check(output.count < 400_000, "\(output.count) bytes of output")
    output.consume(output.count)
    return isUsable
  }

  /// Performs one of the actions of a connection's owner.
  func act(_ choice: Int) throws {
    guard let stream = streams.element(choice) else { return }
    switch choice % 11 {
    case 0:
      stream.isReset = true
      session.reset(stream.id)
    case 1: session.resume(stream.id)
    case 2: session.consumed(min(stream.unread, 1000), of: stream.id)
    case 3: session.ping()
    case 4 where !session.isDraining && streams.count < 20: try submit(isPost: choice > 128)
    default: break
    }
  }
}

/// One request: it counts its last events, and has a body that pauses once.
private final class Stream: HTTP2StreamHandler {
  var id: Int32 = 0
  var isReset = false
  private(set) var ends = 0
  private(set) var unread = 0
  private var heads = 0
  private var reads = 0

  func received(informational head: [UInt8], status: Int) {
    check(heads == 0 && (100..<200).contains(status), "an informational head after the head")
    _ = ResponseHead(lines: head)
  }

  func received(head: [UInt8], status: Int, contentLength: Int64?) {
    heads += 1
    check(heads == 1 && ends == 0, "a head after \(heads - 1) heads and \(ends) ends")
    check(ResponseHead(lines: head).status.code == status, "two statuses")
  }

  func received(body: UnsafeRawBufferPointer) {
    check(heads == 1 && ends == 0, "a body outside of a response")
    unread += body.count
  }

  func ended(trailers: [UInt8]) {
    ends += 1
    check(heads == 1, "the end of a response without a head")
    for (name, value) in HTTPFields(lines: trailers[...]) {
      check(!value.utf8.contains { [0, 10, 13].contains($0) }, "\(name): \(value.debugDescription)")
    }
  }

  func failed(_ failure: HTTP2Failure) {
    ends += 1
    check(!failure.error.message.isEmpty, "an error without a message")
  }

  func readBody(into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
    reads += 1
    guard reads < 4 else { return .end(0) }
    if reads == 2 { return .later }
    room.initializeMemory(as: UInt8.self, repeating: 1)
    return .bytes(room.count)
  }

  func sentRequest() {}
}

extension Array {
  /// Returns the element at a number, which may be larger than the count.
  fileprivate func element(_ number: Int) -> Element? { isEmpty ? nil : self[number % count] }
}
#endif
