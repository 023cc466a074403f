#if os(Linux)
import MartletEngine
import MartletSemantics

/// What the loop thread tells the task that waits for a transfer, in order.
enum Signal: Sendable {
  /// The raw bytes of an informational response's head.
  case informational([UInt8])
  /// Something for those who watch.
  case note(String)
  /// So many bytes of the request's body went out.
  case sent(Int64)
  /// The raw bytes of the final response's head: they are parsed by the waiting task, not on the loop thread.
  case head([UInt8])
  /// Bytes of the response's body.
  case chunk(Data)
  /// All is there.
  case end(Ending)
  /// It failed.
  case failed(HTTPError)

  struct Ending: Sendable {
    var trailers: [UInt8]
    var metrics: TransferMetrics?
  }

  /// What counts against the read-ahead.
  var byteCount: Int {
    if case .chunk(let data) = self { data.count } else { 0 }
  }
}
#endif
