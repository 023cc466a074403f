public import Foundation
public import MartletCombine

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

extension SAPURLSession {
  /// What a URL brings, as a publisher; see ``DataTaskPublisher``.
  public func dataTaskPublisher(for url: URL) -> DataTaskPublisher {
    DataTaskPublisher(session: self, request: URLRequest(url: url))
  }

  /// What a request brings, as a publisher; see ``DataTaskPublisher``.
  public func dataTaskPublisher(for request: URLRequest) -> DataTaskPublisher {
    DataTaskPublisher(session: self, request: request)
  }

  /// Publishes the body and the response of one task, and ends; or fails with whatever the task failed with.
  ///
  /// ```swift
  /// session.dataTaskPublisher(for: url)
  ///   .map(\.data)
  ///   .replaceError(with: placeholder)
  ///   .sink { show($0) }
  /// ```
  ///
  /// Every subscriber has a task of its own, which is made and begins when it first asks for a value. It completes exactly once;
  /// a response without a body brings empty data. Cancelling the subscription cancels the task. (SAP's publisher can end
  /// neither with a value nor with an error, and leaves the task of a cancelled subscription running.)
  public final class DataTaskPublisher: Publisher, Sendable {
    public typealias Output = (data: Data, response: URLResponse)
    public typealias Failure = any Error

    /// What is sent.
    public let request: URLRequest
    /// Who sends it.
    public let session: SAPURLSession

    /// Makes a publisher.
    public init(session: SAPURLSession, request: URLRequest) {
      self.session = session
      self.request = request
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == any Error {
      TaskPublisher<Output, any Error> { [self] in try await load() }.receive(subscriber: subscriber)
    }

    private func load() async throws -> Output {
      let running = Locked<SAPURLSessionTask?>(nil)
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let task = session.dataTask(with: request) { data, response, error in
            continuation.resume(with: Self.result(data, response, error))
          }
          running.withLock { $0 = task }
          task.resume()
          if Task.isCancelled { task.cancel() }
        }
      } onCancel: {
        running.withLock { $0 }?.cancel()
      }
    }

    private static func result(
      _ data: Data?, _ response: URLResponse?, _ error: (any Error)?
    ) -> Result<Output, any Error> {
      if let error { return .failure(error) }
      guard let response else { return .failure(URLError(.badServerResponse)) }
      return .success((data ?? Data(), response))
    }
  }
}
