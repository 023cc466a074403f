public import MartletEngine
public import MartletSemantics
@_spi(Toolkit) import MartletServer

/// A transport around another that records requests and their outcomes.
///
/// ```swift
/// let recording = RecordingTransport(around: MockTransport { _ in .text("hello") })
/// …
/// #expect(recording.records.map(\.request.url.path) == ["/login", "/data"])
/// ```
public final class RecordingTransport: Transport {
  /// One request and its outcome.
  public struct Record: Sendable {
    /// The request as the transport received it.
    public let request: HTTPRequest
    /// The response's head; nil until it arrives, or if there is none.
    public internal(set) var response: ResponseHead?
    /// The error that the transport threw; nil if it threw none.
    public internal(set) var error: (any Error)?
  }

  private let base: any Transport
  private let log = Awaitable<[Record]>([])

  /// Makes a transport around another.
  public init(around base: any Transport) { self.base = base }

  /// All records so far, in the order of the requests.
  public var records: [Record] { log.value }

  /// Waits for the n-th request, counted from 1, and returns it.
  ///
  /// A wait of more than 10 seconds is reported on standard error, with its line.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func request(_ number: Int, fileID: String = #fileID, line: Int = #line) async throws -> HTTPRequest {
    let description: @Sendable ([Record]) -> String = {
      "request \(number) of a RecordingTransport, which has received \($0.count)"
    }
    return try await log.wait(at: .init(fileID, line), saying: description) {
      $0.count >= max(1, number) ? $0[max(1, number) - 1].request : nil
    }
  }

  /// Passes it on.
  public func releaseConnections(_ which: ConnectionRelease) async { await base.releaseConnections(which) }

  /// Passes the request on, and records it and its outcome.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let index = log.update { records in
      records.append(Record(request: request))
      return records.count - 1
    }
    do {
      let response = try await base.send(request, in: call)
      log.update { $0[index].response = response.head }
      return response
    } catch {
      log.update { $0[index].error = error }
      throw error
    }
  }
}
