public import MartletSemantics

/// A frame of HTTP/2 (RFC 9113 §4.1), for ``Reply/sendingFrames(_:times:after:)``. Nothing checks it.
public struct HTTP2Frame: Sendable, Hashable, CustomReflectable {
  /// The type: 0 is DATA, 4 SETTINGS, 6 PING, 7 GOAWAY.
  public var kind: UInt8
  /// The flags.
  public var flags: UInt8
  /// The stream; nil for the one of the request.
  public var stream: UInt32?
  /// The payload.
  public var payload: Data

  /// Makes a frame.
  ///
  /// - Parameters:
  ///   - kind: the type.
  ///   - flags: the flags; none by default.
  ///   - stream: the stream; 0, the default, is the connection, and nil the stream of the request.
  ///   - payload: the payload; empty by default.
  public init(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32? = 0, payload: Data = Data()) {
    self.kind = kind
    self.flags = flags
    self.stream = stream
    self.payload = payload
  }

  /// A PING, which has to be answered (RFC 9113 §6.7). Many of them are a flood.
  public static let ping = HTTP2Frame(6, payload: Data(count: 8))
  /// SETTINGS without a setting, which have to be acknowledged (§6.5).
  public static let settings = HTTP2Frame(4)
  /// DATA of the request's stream without a byte (§6.1).
  public static let emptyData = HTTP2Frame(0, stream: nil)

  /// A mirror without the bytes of the payload.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: ["kind": kind, "flags": flags, "stream": stream.map { "\($0)" } ?? "own", "payload": "\(payload)"])
  }

  func bytes(of own: UInt32) -> Data {
    var bytes = Data([UInt8(truncatingIfNeeded: payload.count >> 16)])
    bytes += [UInt8(truncatingIfNeeded: payload.count >> 8), UInt8(truncatingIfNeeded: payload.count), kind, flags]
    let stream = stream ?? own
    for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: stream >> UInt32(shift))) }
    return bytes + payload
  }
}

/// A fault that only HTTP/2 has.
enum HTTP2Fault: Sendable, Hashable {
  /// RST_STREAM with a code.
  case reset(UInt32)
  /// GOAWAY with a code, after which the connection takes no more requests.
  case goAway(UInt32, isProcessed: Bool)
  case frames([HTTP2Frame], times: Int)

  /// How the fault ends a connection of HTTP/1.1, which has no streams.
  var endingOfConnection: Reply.Ending {
    switch self {
    case .reset: .reset
    case .goAway, .frames: .closeSilently
    }
  }
}

extension Reply {
  /// No response: the request's stream is reset (RST_STREAM, RFC 9113 §6.4). Over HTTP/1.1 the connection is reset.
  ///
  /// - Parameter code: the error code (§7): 7 (REFUSED_STREAM) says that the request was not processed, 8 is CANCEL.
  public static func streamReset(_ code: UInt32) -> Reply { raw(Data()).streamReset(code, after: 0) }

  /// No response: a GOAWAY says that the request was not processed (RFC 9113 §6.8). The connection ends when the other
  /// streams have. Over HTTP/1.1 the connection is closed.
  ///
  /// - Parameter code: the error code (§7); 0 by default, 11 is ENHANCE_YOUR_CALM, 13 HTTP_1_1_REQUIRED.
  public static func goAway(_ code: UInt32 = 0) -> Reply {
    var reply = raw(Data())
    reply.pacing.add(.fault(.goAway(code, isProcessed: false)), at: 0)
    return reply
  }

  /// Resets the request's stream after this many bytes of the body; over HTTP/1.1, the connection.
  ///
  /// - Parameters:
  ///   - code: the error code (RFC 9113 §7); 8, the default, is CANCEL, and 0, NO_ERROR.
  ///   - count: the number of bytes.
  public func streamReset(_ code: UInt32 = 8, after count: Int64) -> Reply {
    changed { $0.pacing.add(.fault(.reset(code)), at: count) }
  }

  /// Sends a GOAWAY after this many bytes of the body, with the request as the last one that is processed. The reply
  /// continues, and the connection is closed after it and the other streams. Over HTTP/1.1 it is closed at once.
  ///
  /// - Parameters:
  ///   - code: the error code (RFC 9113 §7); 0 by default.
  ///   - count: the number of bytes.
  public func goingAway(_ code: UInt32 = 0, after count: Int64) -> Reply {
    changed { $0.pacing.add(.fault(.goAway(code, isProcessed: true)), at: count) }
  }

  /// Sends frames after this many bytes of the body, whatever they are. Over HTTP/1.1 the connection is closed.
  ///
  /// ```swift
  /// let flood = Reply.text("hello").sendingFrames([.ping], times: 100_000, after: 2)
  /// ```
  ///
  /// The server itself takes no notice of them: see ``streamReset(_:after:)`` and ``goingAway(_:after:)``.
  ///
  /// - Parameters:
  ///   - frames: the frames.
  ///   - times: how often they are sent; once by default.
  ///   - count: the number of bytes.
  public func sendingFrames(_ frames: [HTTP2Frame], times: Int = 1, after count: Int64 = 0) -> Reply {
    changed { $0.pacing.add(.fault(.frames(frames, times: times)), at: count) }
  }
}
