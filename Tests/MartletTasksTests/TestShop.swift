import MartletTasks
import MartletTasksTesting
import Synchronization

/// A mock session of one test, at `https://shop.test/v1`.
func makeMock(
  decoder: any NetworkResponseDecoder = JSONResponseDecoder(), headers: HTTPFields = [:],
  signer: (any RequestSigner)? = nil, authenticator: (any Authenticator)? = nil,
  retry: RetryPolicy? = nil
) -> MockSession {
  var configuration = SessionConfiguration()
  (configuration.cache, configuration.cookies) = (nil, nil)
  if let retry { configuration.retry = retry }
  return MockSession(
    decoder: decoder,
    environment: {
      NetworkEnvironment(baseURL: URL(string: "https://shop.test/v1"), headers: headers, signer: signer)
    }, authenticator: { authenticator }, configuration: configuration)
}

struct Shop: Codable, Hashable, Sendable {
  var title: String
}

let shopJSON = #"{"title": "Shoes"}"#

/// What several tasks count together.
final class Counter: Sendable {
  private let count = Mutex(0)

  var value: Int { count.withLock { $0 } }

  @discardableResult
  func next() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
}
