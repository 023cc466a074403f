/// How networks treat the packets of a connection: the Differentiated Services codepoint (DSCP, RFC 2474) that they
/// carry.
///
/// ```swift
/// var connection = ConnectionConfiguration()
/// connection.serviceClass = .lowPriorityData   // backups must not slow down anything else
/// let session = HTTPSession(connection: connection)
/// ```
///
/// The classes are those of RFC 4594 with its recommended codepoints, in the order of their priority in Wi-Fi networks
/// (RFC 8325). Only networks that are configured for it act on a codepoint; the internet usually ignores or clears it.
/// It marks what this program sends, and not what the server sends.
public struct ServiceClass: Sendable, Hashable {
  /// The codepoint, from 0 to 63.
  public var codepoint: Int { Int(value) }
  private let value: UInt8

  /// Makes a class with any codepoint, for example one that the operator of a network has assigned.
  ///
  /// - Parameter codepoint: from 0 to 63; nil is returned for other numbers.
  public init?(codepoint: Int) {
    guard (0..<64).contains(codepoint) else { return nil }
    self.init(UInt8(codepoint))
  }

  private init(_ value: UInt8) { self.value = value }

  /// Voice: expedited forwarding (EF, 46).
  public static let telephony = ServiceClass(46)
  /// The signaling of calls (CS5, 40).
  public static let signaling = ServiceClass(40)
  /// Video calls (AF41, 34).
  public static let multimediaConferencing = ServiceClass(34)
  /// Interactive use that needs an immediate reaction, such as games and remote desktops (CS4, 32).
  public static let realTimeInteractive = ServiceClass(32)
  /// Video and audio on demand (AF31, 26).
  public static let multimediaStreaming = ServiceClass(26)
  /// Live television (CS3, 24).
  public static let broadcastVideo = ServiceClass(24)
  /// Requests for which a user waits (AF21, 18).
  public static let lowLatencyData = ServiceClass(18)
  /// The operation and administration of networks and servers (CS2, 16).
  public static let operations = ServiceClass(16)
  /// Large transfers that may take their time (AF11, 10).
  public static let highThroughputData = ServiceClass(10)
  /// Everything else (DF, 0). Packets without a class have this codepoint, too.
  public static let standard = ServiceClass(0)
  /// Transfers in the background (CS1, 8). Many networks treat it like ``lowerEffort``, some like ``standard``.
  public static let lowPriorityData = ServiceClass(8)
  /// Transfers that only use what others leave (LE, 1; RFC 8622).
  public static let lowerEffort = ServiceClass(1)
}
