import MartletTasks
import MartletTasksTesting
@_exported import TestSupport

/// A mock session of one test, at `https://shop.test/v1`.
func makeMock(
  decoder: any NetworkResponseDecoder = JSONResponseDecoder(), headers: HTTPFields = [:],
  signer: (any RequestSigner)? = nil, authenticator: (any Authenticator)? = nil,
  retry: RetryPolicy? = nil
) -> MockSession {
  var configuration = SessionConfiguration()
  (configuration.cache, configuration.cookies) = (nil, nil)
  if let retry { configuration.options.retryPolicy = retry }
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
