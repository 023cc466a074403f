public import MartletSemantics

/// The source of a request's body for the loop thread that sends it.
@_spi(Transports) public enum Upload: Sendable {
  /// There is no body.
  case none
  /// The bytes are in memory.
  case bytes(Data)
  /// A task reads the body while it is sent.
  case queue(UploadQueue)

  public var hasBody: Bool { if case .none = self { false } else { true } }

  /// - Parameters:
  ///   - body: the body of the request, opened; nil if there is none.
  ///   - request: the request.
  ///   - waitsFor100: whether the body waits until the server has asked for it (RFC 9110 §10.1.1).
  public init(_ body: OpenBody?, of request: HTTPRequest, waitsFor100: Bool) {
    if body == nil {
      self = .none
    } else if let bytes = request.body.bytes {
      self = .bytes(bytes)
    } else {
      self = .queue(UploadQueue(waitsForDemand: waitsFor100 || !request.body.isReplayable))
    }
  }

  /// Starts a task that reads the body and passes it to the loop thread. For bytes in memory there is none.
  func produce(_ body: OpenBody?, for transfer: any TransferControl) -> Task<Void, Never>? {
    guard let body, case .queue(let queue) = self else { return nil }
    return Task {
      do {
        guard await queue.demand() else { return body.source.cancel() }
        while let chunk = try await body.source.next() {
          guard await queue.push(chunk, wake: { transfer.continueUpload() }) else { return body.source.cancel() }
        }
        try Task.checkCancellation()  // A sequence that ended because its task was cancelled is no whole body.
        if queue.end(trailers: body.source.trailers) { transfer.continueUpload() }
      } catch {
        body.source.cancel()
        transfer.fail(HTTPError(whileSending: error))
      }
    }
  }
}
