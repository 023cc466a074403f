#if os(Linux)
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The options of a transport, checked.
struct ConnectionOptions: Sendable {
  let overrides: ResolveOverrides
  let source: Resolver.Source
  /// The local address of all connections; nil to let the system choose.
  let localAddress: IPAddress?
  let unixSocket: SocketAddress?
  let addressRules: AddressRules
  /// Nanoseconds; see ``SocketTransport/Options/blockingWait``.
  let blockingWait: UInt64
  /// Nanoseconds; see ``SocketTransport/Options/silenceLimit``.
  let silenceLimit: UInt64
  /// Nanoseconds, like the options below.
  let probePatience: UInt64
  let probeTimeout: UInt64
  let acknowledgementTimeout: UInt64
  let lingeringTime: UInt64
  let handshakeThreads: WorkerThreads
}
#endif
