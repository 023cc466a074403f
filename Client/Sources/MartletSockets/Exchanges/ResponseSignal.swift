#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The reports of a transport's loop thread to the task that reads a response, in order.
enum ResponseSignal: QueuedSignal {
  /// The raw lines of the written request's head. Only for calls whose listeners receive it.
  case written([UInt8])
  /// The raw lines of an informational response's head.
  case informational([UInt8])
  /// Work for the reading task before the request continues. If it throws, the request ends with the error.
  case ask(@Sendable (Call) async throws -> Void)
  /// A note for the listeners of the call.
  case note(String)
  /// The connection is the wrong one for the origin, and another one may be the right one.
  case misdirected
  /// How many bytes of the request's body were sent so far.
  case sent(Int64)
  /// The raw lines of the final response's head: the reading task parses them, not the loop's thread.
  case head([UInt8])
  /// Bytes of the response's body.
  case chunk(Data)
  /// The end of a complete response, with the raw lines of its trailers.
  case end(trailers: [UInt8])
  /// A complete small response of which nothing was delivered before: the raw lines of its head, its body, and the raw
  /// lines of its trailers.
  case whole([UInt8], Data, trailers: [UInt8])
  /// The transfer failed.
  case failed(HTTPError)
  /// A signal with the metrics up to that point. The head carries them in case the response is not read to its end; the
  /// end or the failure carries them again. Only for calls whose listeners receive metrics.
  indirect case measured(TransferMetrics, ResponseSignal)

  /// The signal with metrics, unless they are nil.
  consuming func measured(_ metrics: TransferMetrics?) -> Self {
    if let metrics { .measured(metrics, self) } else { self }
  }

  /// How many bytes the signal counts toward the reader's limit. Even a chunk of a few bytes occupies memory, so it
  /// counts as 256.
  var byteCount: Int {
    switch self {
    case .chunk(let data), .whole(_, let data, _): max(256, data.count)
    case .measured(_, let signal): signal.byteCount
    default: 0
    }
  }

  /// Whether it is the end of a complete response.
  var isEnd: Bool {
    switch self {
    case .end: true
    case .measured(_, let signal): signal.isEnd
    default: false
    }
  }

  /// Whether both are counts of sent bytes.
  func replaces(_ earlier: Self) -> Bool {
    if case .sent = self, case .sent = earlier { true } else { false }
  }
}
#endif
