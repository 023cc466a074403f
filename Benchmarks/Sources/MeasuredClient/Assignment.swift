public import Foundation

/// What a client's process is told, as a line of JSON.
public struct Assignment: Codable, Sendable {
  public enum Kind: String, Codable, Sendable {
    case fetch, download, upload
  }

  public var kind: Kind
  public var url: URL
  /// How many requests, and how many of them at once. One download or upload is one request.
  public var times = 1
  public var atOnce = 1
  /// The bytes of each body.
  public var length: Int64

  public init(kind: Kind, url: URL, times: Int = 1, atOnce: Int = 1, length: Int64) {
    self.kind = kind
    self.url = url
    self.times = times
    self.atOnce = atOnce
    self.length = length
  }

  /// The bytes of all bodies.
  public var totalLength: Int64 { length * Int64(times) }
}

/// What a client's process answers, as a line of JSON.
public struct AssignmentResult: Codable, Sendable {
  public var seconds = 0.0
  /// The seconds of all processors, in the process and in the kernel for it.
  public var processor = 0.0
  /// The bytes of all bodies.
  public var bytes: Int64 = 0
  /// The most memory that was resident during the work, and what was resident after it, in bytes.
  public var peak = 0
  public var resident = 0
  /// What failed; the other values then mean nothing.
  public var error: String?

  public init() {}
}

/// What a client's process says first, as a line of JSON.
public struct Greeting: Codable, Sendable {
  public var version: String

  public init(version: String) { self.version = version }
}
