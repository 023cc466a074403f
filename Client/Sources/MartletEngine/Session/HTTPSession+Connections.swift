extension HTTPSession {
  /// Closes the connections that no request uses, and returns when they are closed.
  ///
  /// A service may call it before a long pause. Sessions with the same transport share its connections. Over
  /// `URLSessionTransport`, and over a transport of your own that does not implement
  /// ``Transport/releaseConnections(_:)``, it does nothing.
  public func closeIdleConnections() async { await transport.releaseConnections(.idle) }

  /// Lets the connections in use finish their requests, closes all others, and returns when no further request will get
  /// one of them. Later requests use new connections, whose names are looked up again.
  ///
  /// Call it after something has changed that applies to new connections only: a route, a name, a certificate, the
  /// network. No request fails because of it; a WebSocket or an event stream stays open until it ends. To replace
  /// connections regularly, set ``ConnectionConfiguration/connectionLifetime``. Like ``closeIdleConnections()``, it
  /// depends on the transport.
  ///
  /// ```swift
  /// try installRoute()
  /// await session.drainConnections()
  /// ```
  public func drainConnections() async { await transport.releaseConnections(.all) }
}
