public import MartletSemantics

/// What the loop thread of a transport reports to the task that reads a response, in order.
@_spi(Transports) public enum TransferSignal: QueuedSignal {
  /// The raw lines of the request's head, which was written. Only for calls whose listeners receive that.
  case written([UInt8])
  /// The raw lines of an informational response's head.
  case informational([UInt8])
  /// Something that the reading task has to do before the request goes on. If it throws, the request ends with the
  /// error.
  case ask(@Sendable (Call) async throws -> Void)
  /// A note for the listeners of the call.
  case note(String)
  /// How many bytes of the request's body were sent so far.
  case sent(Int64)
  /// The raw lines of the final response's head: they are parsed by the reading task, not on the loop's thread.
  case head([UInt8])
  /// Bytes of the response's body.
  case chunk(Data)
  /// The end of a complete response, with the raw lines of its trailers.
  case end(trailers: [UInt8])
  /// All of a small response, if nothing of it was delivered before: the raw lines of its head, its body, and the raw lines
  /// of its trailers.
  case whole([UInt8], Data, trailers: [UInt8])
  /// The transfer failed.
  case failed(HTTPError)
  /// A signal, with how long the phases took until then: the head, for a response that is not read to its end, and again
  /// its end or a failure. Only for calls whose listeners receive that.
  indirect case measured(TransferMetrics, TransferSignal)

  /// The signal with what was measured, if that is not nil.
  public func measured(_ metrics: TransferMetrics?) -> Self {
    if let metrics { .measured(metrics, self) } else { self }
  }

  /// How much of the reader's room it takes. A chunk of a few bytes needs memory for itself too.
  public var byteCount: Int {
    switch self {
    case .chunk(let data), .whole(_, let data, _): max(256, data.count)
    case .measured(_, let signal): signal.byteCount
    default: 0
    }
  }

  /// Whether both are counts of sent bytes.
  public func replaces(_ earlier: Self) -> Bool {
    if case .sent = self, case .sent = earlier { true } else { false }
  }
}
