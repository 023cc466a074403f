#if os(Linux)
public import MartletEngine

/// How a ``CurlTransport`` connects: the settings of all transports, and those that only this one has. Copied when the
/// transport is made.
///
/// The settings of ``connection`` are members as well: `configuration.tls` is `configuration.connection.tls`.
@dynamicMemberLookup
public struct CurlConfiguration: Sendable {
  /// TLS, proxy, versions and limits.
  public var connection: ConnectionConfiguration

  /// Whether libcurl's easy handles are used for more than one request; nil, the default, does so with libcurl 8.1.0
  /// and later, because a hostile server can crash a process that does so with an earlier version. For measurements and
  /// tests only.
  @_spi(Measuring) public var reusesHandles: Bool?

  /// Makes a configuration with these settings; the default ones by default.
  public init(_ connection: ConnectionConfiguration = .init()) { self.connection = connection }

  /// A setting of ``connection``.
  public subscript<Value>(dynamicMember path: WritableKeyPath<ConnectionConfiguration, Value>) -> Value {
    get { connection[keyPath: path] }
    set { connection[keyPath: path] = newValue }
  }
}
#endif
