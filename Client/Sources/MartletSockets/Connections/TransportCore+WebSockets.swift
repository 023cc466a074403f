#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

// WebSockets over HTTP/2 (RFC 8441). A connection that is there already saves TCP, TLS and a connection of the server;
// a new one is opened for HTTP/1.1, which every server of WebSockets supports.

extension TransportCore {
  /// The key of the connections that a request for an upgrade may use. A WebSocket uses HTTP/2 if its origin has such a
  /// connection, or one is being opened, that may open WebSockets and has room for one more.
  func upgradeKey(of transfer: LoopTransfer) -> ConnectionKey {
    let exchange = transfer.exchange
    let origin = exchange.origin
    let key = usableKey(exchange.destination.key, of: origin)
    guard key.versions == .http1, exchange.message.mayUseHTTP2, !transfer.failures.requireNewConnection,
      !transfer.failures.isCrowdedOut, !servers.refusingHTTP2WebSockets.contains(origin),
      !servers.requiringHTTP1.contains(origin),
      !servers.choosingHTTP1.contains(origin)
    else { return key }
    var shared = key
    (shared.versions, shared.isForUpgrades) = (.negotiated, false)
    return pool.mayOpenWebSockets(shared) ? shared : key
  }

  /// Sends a handshake over HTTP/1.1, and all later ones to this origin, because the server did not accept it over
  /// HTTP/2. It fails if the caller has asked for HTTP/2.
  func sendOverHTTP1(_ transfer: LoopTransfer, _ error: HTTPError) {
    guard transfer.key.versions == .negotiated else {
      let message = "\(error.message): set versions to .automatic or .http1"
      var refusal = HTTPError(.invalidRequest, message, phase: error.phase)
      refusal.delivery = error.delivery
      return transfer.fail(refusal)
    }
    servers.refusingHTTP2WebSockets.insert(transfer.exchange.origin)
    transfer.note("sent again over HTTP/1.1: \(error.message)")
    sendAgain(transfer, because: .unsent)
  }
}
#endif
