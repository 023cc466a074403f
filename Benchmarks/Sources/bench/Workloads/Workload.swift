import Foundation
import MeasuredClient

/// The task of every client, and the counted unit.
struct Workload: Sendable {
  /// The connection to the server.
  enum Channel: Sendable {
    case plain
    /// TLS; the client and the server agree on HTTP/2.
    case secure
    /// TLS to a server that has no HTTP/2.
    case secureHTTP1
    /// A server that closes each connection after a response.
    case closing
    /// The same over TLS, with session tickets and without.
    case closingSecure, closingSecureWithoutTickets
    /// The server that discards bodies and answers late.
    case sink
    /// The server that returns the messages of WebSockets.
    case echo
  }

  let name: String
  /// How to select it on the command line.
  let key: String
  let kind: Assignment.Kind
  let path: String
  let length: Int64
  let channel: Channel
  let atOnce: Int

  static let all = [
    fetch("1 KiB, one after another", "small", .small, atOnce: 1),
    fetch("1 KiB, 64 at once", "small64", .small, atOnce: 64),
    fetch("100 KiB, one after another", "medium", .medium, atOnce: 1),
    fetch("100 KiB, 16 at once", "medium16", .medium, atOnce: 16),
    fetch("1 KiB, TLS and HTTP/2, 64 at once", "tls64", .small, .secure, atOnce: 64),
    fetch("1 KiB, TLS and HTTP/1.1, 64 at once", "tls64-http1", .small, .secureHTTP1, atOnce: 64),
    decode("104 KB, gzip, 16 at once", "gzip16", .gzip),
    decode("104 KB, Brotli, 16 at once", "brotli16", .brotli),
    decode("104 KB, zstd, 16 at once", "zstd16", .zstd),
    Workload("1 KiB sent, 64 at once", "send64", .send, "upload", 1024, .sink, atOnce: 64),
    Workload("256 MiB down", "down", .download, ServedFile.large.name, ServedFile.large.count),
    Workload("256 MiB up", "up", .upload, "upload", ServedFile.large.count, .sink),
    Workload("256 MiB up from a file", "up-file", .uploadFile, "upload", ServedFile.large.count, .sink),
  ]

  /// 10,000 requests, each on a connection of its own, to a server that answers after a second.
  static let crowd = Workload(
    "10,000 at once, answered after 1 s", "crowd", .fetch, "slow", 2, .sink, atOnce: 10_000)

  /// Each request needs a connection of its own.
  static let connecting = [
    fetch("new TCP connections", "connect", .small, .closing, atOnce: 16),
    fetch("resumed TLS sessions", "resume", .small, .closingSecure, atOnce: 16),
    fetch("full TLS handshakes", "handshake", .small, .closingSecureWithoutTickets, atOnce: 16),
    fetch("full TLS handshakes, one after another", "handshake1", .small, .closingSecureWithoutTickets, atOnce: 1),
  ]

  /// Measures the time of each request: with this number of callers, or with this number of requests a second.
  static func latency(callers: Int) -> Workload {
    let name = callers == 1 ? "1 caller" : "\(callers) callers"
    return Workload(name, "latency", .latency, ServedFile.small.name, ServedFile.small.count, atOnce: callers)
  }

  /// Messages over a WebSocket that the server returns.
  static let webSocket = [
    echo("64 bytes, one after another", "echo", 64),
    echo("64 bytes, 16 on the way", "echo16", 64, atOnce: 16),
    echo("64 bytes, 64 on the way", "echo64-small", 64, atOnce: 64),
    echo("64 KiB, one after another", "echo-large", 64 << 10),
    echo("64 KiB, 16 on the way", "echo16-large", 64 << 10, atOnce: 16),
    echo("64 KiB, 64 on the way", "echo64-large", 64 << 10, atOnce: 64),
    echo("1 KiB, 64 on the way", "echo64", 1024, atOnce: 64),
    echo("1 KiB, 64 on the way, compressed", "echo64-deflate", 1024, .echoCompressed, atOnce: 64),
  ]

  /// Bodies of all lengths, which the client collects.
  static let bodies = [ServedFile.small, .short, .medium, .long, .longer, .longest, .gigabyte].map { file in
    Workload(
      Self.length(of: file), "body-\(file.rawValue)", .fetch, file.name, file.count,
      atOnce: file.count > 100 << 20 ? 1 : 4)
  }

  private static func length(of file: ServedFile) -> String {
    let kilobytes = file.count >> 10
    return kilobytes < 1 << 10 ? "\(kilobytes) KiB" : kilobytes < 1 << 20 ? "\(kilobytes >> 10) MiB" : "1 GiB"
  }

  /// The workloads that can be named for a profile or for counts.
  static let named = all + webSocket + bodies

  private static func echo(
    _ name: String, _ key: String, _ length: Int64, _ kind: Assignment.Kind = .echo, atOnce: Int = 1
  ) -> Workload { Workload(name, key, kind, "", length, .echo, atOnce: atOnce) }

  /// A number of callers that send one request after another.
  static func callers(_ count: Int) -> Workload {
    fetch(count == 1 ? "1 caller" : "\(count) callers", "callers\(count)", .small, atOnce: count)
  }

  private static func fetch(
    _ name: String, _ key: String, _ file: ServedFile, _ channel: Channel = .plain, atOnce: Int
  ) -> Workload { Workload(name, key, .fetch, file.name, file.count, channel, atOnce: atOnce) }

  private static func decode(_ name: String, _ key: String, _ file: CodedFile) -> Workload {
    Workload(name, key, .decode, file.name, CodedFile.count, atOnce: 16)
  }

  private init(
    _ name: String, _ key: String, _ kind: Assignment.Kind, _ path: String, _ length: Int64,
    _ channel: Channel = .plain,
    atOnce: Int = 1
  ) {
    (self.name, self.key, self.kind, self.path, self.length) = (name, key, kind, path, length)
    (self.channel, self.atOnce) = (channel, atOnce)
  }

  /// The abilities that a client needs.
  var needs: Set<ClientProgram.Ability> {
    var needs: Set<ClientProgram.Ability> =
      switch kind {
      case .fetch: [.fetch]
      case .decode: [.decode]
      case .download: [.download]
      case .upload: [.upload]
      case .uploadFile: [.uploadFile]
      case .send: [.send]
      case .latency: [.fetch]
      case .echo: [.webSocket]
      case .echoCompressed: [.webSocket, .webSocketCompression]
      }
    if channel == .secure { needs.formUnion([.tls, .http2]) }
    if [.secureHTTP1, .closingSecure, .closingSecureWithoutTickets].contains(channel) { needs.insert(.tls) }
    if atOnce > 64 { needs.insert(.crowd) }
    return needs
  }

  /// Whether requests or messages are counted; otherwise the bytes of a large body are.
  var countsRequests: Bool { ![.download, .upload, .uploadFile].contains(kind) }

  var unit: String { countsRequests ? "req/s" : "MB/s" }

  func assignment(at server: RunningServer, times: Int) -> Assignment {
    Assignment(
      kind: kind, url: server.url(channel).appending(path: path), times: countsRequests ? times : 1,
      atOnce: atOnce, length: length, file: kind == .uploadFile ? server.uploadBody : nil)
  }

  /// The result per second of the measurement, in ``unit``.
  func rate(_ measurement: AssignmentResult, _ assignment: Assignment) -> Double {
    (countsRequests ? Double(assignment.times) : Double(measurement.bytes) / 1_000_000) / measurement.seconds
  }
}
