#if os(Linux)
import MartletEngine
import MartletSemantics

/// Why a connection could not be opened.
struct OpeningFailure {
  let error: HTTPError
  /// The certificates of the server, if they are the reason.
  var refused: [Data]?
  /// The proxy that cannot be reached.
  var proxy: ProxyServer?
  /// Whether the system has no descriptor for it.
  var lacksDescriptor = false
  /// The known facts about the connection at the time of the failure.
  var facts: ConnectionFacts?

  /// Returns the error of a request that waited for the connection.
  func error(for origin: Origin) -> HTTPError { proxy?.unreachable(error, for: origin) ?? error }
}
#endif
