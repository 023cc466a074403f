public import MartletEngine
public import MartletSemantics

/// When a ``ReconnectingWebSocket`` opens another connection.
public struct Reconnection: Sendable {
  /// The delay before another attempt; by default at most 1 second before the first one, doubling up to 60 seconds. The
  /// random part keeps clients that lost a server at the same time from returning all at once. A connection that lasts
  /// longer than the longest possible delay before it starts the series again. If the server asks for a longer delay
  /// with `Retry-After`, that delay applies, but an hour at most.
  public var backoff = Backoff(base: .seconds(1), delayLimit: .seconds(60))
  /// The number of failures in a row after which the last error is final; nil, the default, for no limit.
  public var failureLimit: Int?
  /// Decides whether to open another connection after an error, either of a connection or of an attempt to open one.
  /// The second argument is the code with which the server closed the connection; nil if it did not.
  /// ``isTemporary(_:_:)`` by default. If the host's name does not exist, the error is always final, unless there was a
  /// connection before. If two threads notice a loss at the same time, both may call the closure. It is not called for
  /// a connection that this program has closed, for example by cancelling a send.
  public var reconnects: @Sendable (HTTPError, WebSocket.CloseCode?) -> Bool = { isTemporary($0, $1) }
  /// Returns the random factor of a delay, from 0 to 1; tests can replace it.
  public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

  /// Makes the defaults.
  public init() {}

  /// Whether another connection may help: the server is leaving, is restarting, has failed or is overloaded (the codes
  /// 1001, 1006 and 1011 to 1013), or the error is transient (``Martlet/HTTPError/isTransient``). A refusal with a
  /// status of 500 or above means the same as the code 1011, and another attempt does no harm. 501 and 505 are
  /// permanent.
  public static func isTemporary(_ error: HTTPError, _ code: WebSocket.CloseCode?) -> Bool {
    let temporary: [WebSocket.CloseCode] = [
      .goingAway, .abnormalClosure, .internalServerError, .serviceRestart, .tryAgainLater,
    ]
    if error.kind == .connectionLost, let code { return temporary.contains(code) }
    let status = error.kind == .unexpectedResponse ? error.response?.status : nil
    let hasFailed = status?.class == .serverError && ![.notImplemented, .httpVersionNotSupported].contains(status)
    return hasFailed || error.isTransient
  }
}
