#if os(Linux)
import MartletSemantics

/// What a connection has to have in common with a request that uses it.
struct ConnectionKey: Hashable, Sendable {
  let origin: Origin

  init(_ exchange: Exchange) { origin = exchange.origin }
}
#endif
