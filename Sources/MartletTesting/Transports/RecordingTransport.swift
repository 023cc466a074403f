public import MartletEngine
public import MartletSemantics

/// A transport around another that remembers what went through.
///
/// ```swift
/// let recording = RecordingTransport(around: MockTransport { _ in .text("hello") })
/// …
/// #expect(recording.records.map(\.request.url.path) == ["/login", "/data"])
/// ```
public final class RecordingTransport: Transport {
  /// One request and what came of it.
  public struct Record: Sendable {
    /// The request as the transport got it.
    public let request: HTTPRequest
    /// The head of the response; nil while there is none.
    public internal(set) var response: ResponseHead?
    /// What the transport threw; nil if it did not.
    public internal(set) var error: (any Error)?
  }

  private let base: any Transport
  private let log = Watched<[Record]>([])

  /// Makes a transport around another.
  public init(around base: any Transport) { self.base = base }

  /// Everything so far, in the order in which the requests came.
  public var records: [Record] { log.state }

  /// Waits until so many requests have come, and returns the last of those.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func request(_ number: Int) async throws -> HTTPRequest {
    try await log.wait { $0.count >= max(1, number) ? $0[max(1, number) - 1].request : nil }
  }

  /// Passes the request on, and remembers it and what came of it.
  public func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    let index = log.update { records in
      records.append(Record(request: request))
      return records.count - 1
    }
    do {
      let response = try await base.send(request, in: exchange)
      log.update { $0[index].response = response.head }
      return response
    } catch {
      log.update { $0[index].error = error }
      throw error
    }
  }
}
