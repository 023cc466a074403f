#if os(Linux)
import MartletSemantics

/// What a connection has to have in common with a request that uses it. Everything else is the same for all connections
/// of a transport.
struct ConnectionKey: PoolKey {
  let origin: Origin

  init(_ exchange: Exchange) { origin = exchange.origin }

  var host: String { "\(origin.host):\(origin.port)" }

  var mayMultiplex: Bool { false }
}
#endif
