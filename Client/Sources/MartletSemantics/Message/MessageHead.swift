/// The head of a request: method, URL and fields, without the body.
public struct RequestHead: Sendable, Hashable {
  /// The method; GET by default.
  public var method: HTTPMethod
  /// The absolute http or https URL.
  public var url: URL
  /// The fields, as the caller set them.
  public var fields: HTTPFields

  /// Makes a head.
  public init(method: HTTPMethod = .get, url: URL, fields: HTTPFields = [:]) {
    self.method = method
    self.url = url
    self.fields = fields
  }
}

/// The head of a response: status and fields, without the body.
public struct ResponseHead: Sendable, Hashable {
  /// The status code. If it changes, ``reason`` becomes the registered phrase of the new code.
  public var status: HTTPStatus {
    didSet { if status != oldValue { sentReason = nil } }
  }
  /// The fields in the order in which they were received, with repeated lines.
  public var fields: HTTPFields
  /// The version of HTTP of the message; nil if it was not received over a connection.
  public var version: HTTPVersion?
  /// The phrase, if it is not the registered one, so that an ordinary head has no string.
  private var sentReason: String?

  /// Makes a head with the registered reason phrase.
  public init(status: HTTPStatus, fields: HTTPFields = [:], version: HTTPVersion? = nil) {
    self.status = status
    self.fields = fields
    self.version = version
  }

  /// The reason phrase that the server sent (RFC 9112 §4): the text after the code, for people. A program must not
  /// depend on it. Empty if the server sent none.
  ///
  /// HTTP/2 has no phrases, and Apple's URLSession does not report them. There, and in a head that was not received, it
  /// is the phrase that is registered for the code; empty if the code has none.
  ///
  /// The text is what the server sent, decoded as UTF-8 or else Latin-1; show ``statusText`` to people.
  public var reason: String {
    get { sentReason ?? status.reasonPhrase }
    set { sentReason = newValue == status.reasonPhrase ? nil : newValue }
  }

  /// Code and reason phrase, `404 Not Found`; only the code if there is no phrase. Control characters of the phrase
  /// become spaces, so that it is safe in logs and on terminals.
  public var statusText: String {
    let reason = reason
    return reason.isEmpty ? "\(status.code)" : "\(status.code) \(reason.printable)"
  }
}

/// A version of HTTP.
@nonexhaustive public enum HTTPVersion: String, Sendable, Hashable, Comparable, CustomStringConvertible {
  /// HTTP/1.0.
  case http1_0 = "HTTP/1.0"
  /// HTTP/1.1 (RFC 9112).
  case http1_1 = "HTTP/1.1"
  /// HTTP/2 (RFC 9113).
  case http2 = "HTTP/2"
  /// HTTP/3 (RFC 9114).
  case http3 = "HTTP/3"

  /// Orders versions by number.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// The version as it is sent: `HTTP/1.1`.
  public var description: String { rawValue }

  /// The number alone: `1.1`, `2`.
  @_spi(Toolkit) public var number: String { String(rawValue.dropFirst(5)) }
}
