public import MartletEngine
public import MartletSemantics

/// When a ``ReconnectingWebSocket`` opens another connection.
public struct Reconnection: Sendable {
  /// The delay before another attempt; by default at most 1 second before the first one, doubling up to 60 seconds. The
  /// random part keeps clients that lost a server at the same time from returning at the same time. A message that
  /// arrives, and a connection that lasts longer than the cap, begin the series anew. If the server asks for more with
  /// `Retry-After`, that counts.
  public var backoff = Backoff(base: .seconds(1), cap: .seconds(60))
  /// The number of failures in a row after which the last error is final; nil, the default, for no limit.
  public var failureLimit: Int?
  /// Decides whether to open another connection after an error, which is that of a connection or that of an attempt to
  /// open one, and the code with which the server closed the connection; nil if it did not. By default
  /// ``isTemporary(_:_:)``.
  public var reconnects: @Sendable (HTTPError, WebSocket.CloseCode?) -> Bool = { isTemporary($0, $1) }
  /// Returns the random factor of a delay, from 0 to 1; tests can replace it.
  public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

  /// Makes the defaults.
  public init() {}

  /// Whether another connection may help: the server leaves, restarts, failed or is overloaded (the codes 1001, 1006
  /// and 1011 to 1013), or the error is transient (``Martlet/HTTPError/isTransient``).
  public static func isTemporary(_ error: HTTPError, _ code: WebSocket.CloseCode?) -> Bool {
    let temporary: [WebSocket.CloseCode] = [
      .goingAway, .abnormalClosure, .internalServerError, .serviceRestart, .tryAgainLater,
    ]
    guard error.kind == .connectionLost, let code else { return error.isTransient }
    return temporary.contains(code)
  }
}
