public import MartletSemantics

extension Reply {
  /// Sends an informational response first (RFC 9110 §15.2), such as 103 Early Hints.
  public func preceded(by status: HTTPStatus, fields: HTTPFields = [:]) -> Reply {
    changed { $0.interim.append(ResponseHead(status: status, fields: fields)) }
  }

  /// Sends the body in chunks.
  ///
  /// - Parameters:
  ///   - size: the bytes of a chunk, as many as there are at most; 64 KiB by default.
  ///   - sizeLine: a text in place of every chunk's size, to be wrong on purpose: `"zz"`, `"-1"`, `"ffffffffffffffff1"`.
  public func chunked(size: Int = 64 << 10, sizeLine: String? = nil) -> Reply {
    changed { $0.framing = .chunked(size: max(1, size), sizeLine: sizeLine) }
  }

  /// Sends no length: the end of the connection ends the body.
  public func untilClose() -> Reply {
    changed {
      $0.framing = .untilClose
      if $0.ending == .keepAlive { $0.ending = .close }
    }
  }

  /// Adds a trailer field, and so sends the body in chunks.
  public func with(trailer name: FieldName, _ value: String) -> Reply {
    changed { $0.trailers.append(value, for: name) }
  }

  /// Closes the connection afterwards and says so.
  public func closing() -> Reply { changed { $0.ending = .close } }

  /// Closes the connection afterwards without a word, so that a pooled one is stale.
  /// ``LoopbackServer/end(ofConnection:)`` tells when it is closed.
  public func closingSilently() -> Reply { changed { $0.ending = .closeSilently } }

  /// Holds everything, the head included, until the gate opens.
  public func held(by gate: Gate) -> Reply { changed { $0.hold = gate } }

  /// Sends everything, the head included, that much later, to a millisecond: a network that is slow, and replies that overtake
  /// each other. For a reply that is to come after something else, use ``held(by:)``.
  public func delayed(by delay: Duration) -> Reply { changed { $0.delay = delay } }

  /// Stops after so many bytes of the body until the gate opens; without one until the client goes or the server stops.
  public func stalled(after count: Int64, until gate: Gate? = nil) -> Reply {
    changed { $0.pacing.add(.hold(gate), at: count) }
  }

  /// Sends so many bytes of the body at a time, with that pause between.
  public func dripped(_ count: Int64, every interval: Duration) -> Reply {
    changed { $0.pacing.drip = Pacing.Drip(count: max(1, count), interval: interval) }
  }

  /// Closes the connection after so many bytes of the body, whatever was promised.
  public func truncated(after count: Int64) -> Reply { changed { $0.pacing.add(.end(.closeSilently), at: count) } }

  /// Resets the connection (RST) after so many bytes of the body.
  public func reset(after count: Int64) -> Reply { changed { $0.pacing.add(.end(.reset), at: count) } }

  private func changed(_ change: (inout Reply) -> Void) -> Reply {
    var copy = self
    change(&copy)
    return copy
  }
}
