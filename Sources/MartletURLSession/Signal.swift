import MartletEngine
import MartletSemantics

/// What URLSession tells the task that waits for a response, in order.
enum Signal: Sendable {
  /// An informational response.
  case informational(ResponseHead)
  /// So many bytes of the request's body went out.
  case sent(Int64)
  /// The final response's head.
  case head(ResponseHead)
  /// Bytes of the response's body.
  case chunk(Data)
  /// How long it took.
  case metrics(TransferMetrics)
  /// All is there.
  case end
  /// It failed.
  case failed(URLSessionFailure)

  /// What counts against the read-ahead.
  var byteCount: Int {
    if case .chunk(let data) = self { data.count } else { 0 }
  }
}
