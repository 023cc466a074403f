public import MartletEngine

extension HTTPSession {
  /// Makes a session on the platform's own transport, ``DefaultTransport`` as it is without further settings.
  ///
  /// Every such session has connections of its own; keep one and share it. A session whose transport is to be set up
  /// is made with `init(transport:configuration:)`.
  public init(configuration: SessionConfiguration = .init()) {
    self.init(transport: DefaultTransport(), configuration: configuration)
  }

  /// The session for whoever needs no settings: the default configuration on the platform's own transport, made when it
  /// is first used and kept for the life of the process.
  public static let shared = HTTPSession()
}
