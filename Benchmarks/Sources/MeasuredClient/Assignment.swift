public import Foundation

/// The assignment of a client's process, as a line of JSON.
public struct Assignment: Codable, Sendable {
  public enum Kind: String, Codable, Sendable {
    /// Gets bodies, or bodies that the server has compressed.
    case fetch, decode
    /// Transfers one large body; an upload's comes from a stream, or from a file.
    case download, upload, uploadFile
    /// Sends messages over a WebSocket and receives them again, without compression or with it.
    case echo, echoCompressed
    /// Sends small bodies.
    case send
    /// Gets bodies, and measures the time of each request.
    case latency
  }

  public var kind: Kind
  public var url: URL
  /// The number of requests or messages, and how many of them run at once. One download or upload is one request.
  public var times = 1
  public var atOnce = 1
  /// The number of bytes of each body.
  public var length: Int64
  /// The file to upload.
  public var file: URL?
  /// Requests arrive at random moments, this many nanoseconds apart on average, whether others have ended or not; 0 to
  /// begin one when another ends.
  public var interval: Int64 = 0

  public init(kind: Kind, url: URL, times: Int = 1, atOnce: Int = 1, length: Int64, file: URL? = nil) {
    self.kind = kind
    self.url = url
    self.times = times
    self.atOnce = atOnce
    self.length = length
    self.file = file
  }

  /// The content of each message: text that compresses as JSON does.
  public var message: Data {
    let words = (0...length / 6).map { "\"n\":\($0 % 97)," }.joined()
    return Data(words.utf8.prefix(Int(length)))
  }

  /// When the requests arrive, in nanoseconds since the first one; empty if one begins when another ends. The gaps are
  /// exponentially distributed, as with many independent users (a Poisson process), and the same for every client.
  public var arrivals: [Int64] {
    guard interval > 0 else { return [] }
    var random = SplitMix(state: 0x2545_F491_4F6C_DD1D)
    var due = 0.0
    return (0..<times).map { _ in
      defer { due -= Double(interval) * log(1 - Double.random(in: 0..<1, using: &random)) }
      return Int64(due)
    }
  }

  /// The number of bytes of all bodies or messages.
  public var totalLength: Int64 { length * Int64(times) }
}

/// Numbers that only look random, so that all clients get the same (Steele, Lea, Flood: SplitMix).
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// The answer of a client's process, as a line of JSON.
public struct AssignmentResult: Codable, Sendable {
  public var seconds = 0.0
  /// The seconds of all processors, in the process and in the kernel for it.
  public var processor = 0.0
  /// The pages of memory that the kernel had to provide (minor page faults).
  public var pageFaults = 0
  /// The number of bytes of all bodies.
  public var bytes: Int64 = 0
  /// The maximum of resident memory during the work, and the resident memory after it, in bytes.
  public var peak = 0
  public var resident = 0
  /// Quantiles of the time of a request in microseconds, at the shares of ``quantiles``; empty if it was not measured.
  public var latencies: [Double]? = nil
  public static let quantiles = [0.5, 0.9, 0.99, 1]
  /// The failure; then the other values mean nothing.
  public var error: String?

  public init() {}
}

/// The first output of a client's process, as a line of JSON.
public struct Greeting: Codable, Sendable {
  public var version: String

  public init(version: String) { self.version = version }
}
