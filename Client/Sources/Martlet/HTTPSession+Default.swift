public import MartletEngine

extension HTTPSession {
  /// Makes a session on the platform's own transport, ``DefaultTransport``.
  ///
  /// Every such session has connections of its own; keep one and share it. A session on another transport is made with
  /// `init(transport:configuration:)`.
  ///
  /// - Parameters:
  ///   - connection: how it connects: TLS, proxy, versions, limits. ``DefaultTransport`` lists the settings that it
  ///     does not support.
  ///   - configuration: all other settings.
  public init(connection: ConnectionConfiguration = .init(), configuration: SessionConfiguration = .init()) {
    self.init(transport: DefaultTransport(connection), configuration: configuration)
  }

  /// The shared session with default settings: the default configuration on the platform's own transport. It is made on
  /// first use and kept for the life of the process.
  public static let shared = HTTPSession()
}

extension ClosableSession {
  /// Makes a session on the platform's own transport, ``DefaultTransport``.
  ///
  /// - Parameters:
  ///   - connection: how it connects: TLS, proxy, versions, limits. ``DefaultTransport`` lists the settings that it
  ///     does not support.
  ///   - configuration: all other settings.
  public convenience init(
    connection: ConnectionConfiguration = .init(), configuration: SessionConfiguration = .init()
  ) {
    self.init(transport: DefaultTransport(connection), configuration: configuration)
  }
}
