@_spi(Transports) import MartletEngine
import MartletSemantics

/// The times of a transfer's phases, in nanoseconds on the loop's clock.
struct TransferTiming {
  var start: UInt64
  /// The facts of its connection; nil before it has one.
  var connection: ConnectionFacts?
  /// Whether its connection was open before, or had already sent a request.
  var reusedConnection = false
  var requestStart: UInt64?
  var firstByte: UInt64?
  var headerBytesReceived: Int64 = 0

  init(start: UInt64) { self.start = start }

  /// The metrics without the sizes of the bodies.
  func metrics(until end: UInt64) -> TransferMetrics {
    var metrics = TransferMetrics()
    if let connection {
      metrics.queued = time(reusedConnection ? requestStart ?? end : connection.started)
      if !reusedConnection {
        metrics.nameLookup = time(connection.resolved)
        metrics.connect = time(connection.connected)
        metrics.secureConnect = connection.secured.map(time) ?? .zero
      }
      metrics.version = connection.version
      metrics.remoteAddress = connection.remoteAddress
      metrics.remotePort = connection.remotePort
      metrics.localPort = connection.localPort
      metrics.tls = connection.tls
    } else {
      metrics.queued = time(end)
    }
    metrics.reusedConnection = reusedConnection
    metrics.requestStart = requestStart.map(time) ?? .zero
    metrics.firstByte = firstByte.map(time) ?? .zero
    metrics.total = time(end)
    metrics.headerBytesReceived = headerBytesReceived
    return metrics
  }

  /// The time since the start; zero for earlier points.
  private func time(_ point: UInt64) -> Duration {
    .nanoseconds(point > start ? Int64(clamping: point - start) : 0)
  }
}

/// How much of the request's body was sent.
struct UploadProgress {
  /// How many bytes were taken from their source.
  var taken: Int64 = 0
  var sent: Int64 = 0
  /// How many of the sent bytes were reported to the call's listeners.
  var reported: Int64 = 0
  /// Whether the source was stopped, so that the request cannot be sent again.
  var isStopped = false
}

/// How much of the response's body was received.
struct BodyProgress {
  /// The length; nil if it is not known.
  var length: Int64?
  var received: Int64 = 0
  /// The size of the previous chunk, which shows whether the body arrives fast.
  var lastChunkSize = 0
  /// How many bytes may still be read and dropped after the reader has stopped, so that the connection stays usable;
  /// nil before.
  var discarding: Int?
}

/// The signals of a transfer in this turn.
struct UndeliveredSignals {
  /// The final head, while the rest of a small response may still be delivered with it.
  var head: [UInt8]?
  var signals: [ResponseSignal] = []
  /// How many bytes of the body the signals have.
  var bytes = 0
  /// The last signal, after the others.
  var last: ResponseSignal?
}
