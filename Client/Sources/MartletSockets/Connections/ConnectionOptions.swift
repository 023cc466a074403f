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
  /// How many threads of the process may wait at the same time.
  let waitingThreads: Int
  /// A server that has answered within this time, in nanoseconds, is expected to do so again.
  var fastAnswer: UInt64 { min(blockingWait, 200_000) }
  /// With how many requests in progress the loop's thread lends its state. On one processor, the thread could not sleep
  /// while another one works, so that lending saves nothing.
  let requestsDuringLoan: Int
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
