#if !canImport(Darwin)
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
@_spi(Toolkit) public import MartletCombine

extension URLSession {
  /// Makes a publisher of the response of a URL, as data.
  public func dataTaskPublisher(for url: URL) -> DataTaskPublisher { dataTaskPublisher(for: URLRequest(url: url)) }

  /// Makes a publisher of the response of a request, as data.
  ///
  /// The data task starts with the first request of a value, one for each subscriber, and is cancelled with the
  /// subscription. A response with an error status, such as 404, is a value and no failure.
  public func dataTaskPublisher(for request: URLRequest) -> DataTaskPublisher {
    DataTaskPublisher(request: request, session: self)
  }

  /// The publisher that ``dataTaskPublisher(for:)-(URLRequest)`` returns.
  public struct DataTaskPublisher: Publisher {
    /// The body and the head of the response.
    public typealias Output = (data: Data, response: URLResponse)
    /// The failure of the data task.
    public typealias Failure = URLError

    /// The request that is sent.
    public let request: URLRequest
    /// The session that sends it.
    public let session: URLSession

    /// Makes the publisher, like ``URLSession/dataTaskPublisher(for:)-(URLRequest)``.
    public init(request: URLRequest, session: URLSession) {
      self.request = request
      self.session = session
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == URLError {
      CallbackPublisher<Output, URLError>("DataTaskPublisher", starting: .withTheFirstRequest) { [request, session] in
        let receiver = $0
        let task = session.dataTask(with: request) { data, response, error in
          if let response, error == nil {
            receiver.send((data ?? Data(), response))
            receiver.finish(.finished)
          } else {
            receiver.finish(.failure(error as? URLError ?? URLError(.unknown)))
          }
        }
        task.resume()
        return { task.cancel() }
      }.receive(subscriber: subscriber)
    }
  }
}
#endif
