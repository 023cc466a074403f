#if os(Linux)
/// A connection of the pool.
enum PooledConnection {
  case opening(ConnectionOpening)
  case open(Connection)

  var key: ConnectionKey {
    switch self {
    case .opening(let opening): opening.key
    case .open(let connection): connection.key
    }
  }

  /// Whether it may open WebSockets over HTTP/2, as far as is known.
  var mayOpenWebSockets: Bool {
    switch self {
    case .opening: true
    case .open(let connection): connection.mayOpenWebSockets
    }
  }

  /// The context of its TLS session with the origin; nil without one.
  var tlsContext: TLSContext? {
    switch self {
    case .opening(let opening): opening.socket?.tlsContext
    case .open(let connection): connection.socket.tlsContext
    }
  }

  func close() {
    switch self {
    case .opening(let opening): opening.close()
    case .open(let connection): connection.close()
    }
  }
}
#endif
