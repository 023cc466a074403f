import MartletTasks
import MartletTasksTesting
import TestSupport
import Testing

@Suite struct SecretValueTests {
  private static func values() async throws -> [(name: String, value: Any)] {
    let body = Data(#"{"message": "no", "token": "hidden"}"#.utf8)
    let response = HTTPResponse(fields: [.setCookie: "a=hidden"], url: secretURL)
    let message = ServiceMessage(response, data: body)
    let request = NetworkRequest(url: secretURL, method: .POST).body(data: body)
      .header(name: "Authorization", value: "hidden").queryItem(name: "token", value: "hidden")
    let environment = NetworkEnvironment(baseURL: secretURL, headers: [.authorization: "hidden"])
    var endpoints = AccountAuthenticator.Endpoints()
    endpoints.login = request
    let mock = MockSession()
    mock[""] = .response(data: body)
    _ = await request.task(session: mock).execute()
    return [
      ("NetworkRequest", request), ("NetworkEnvironment", environment),
      ("NetworkResponse", NetworkResponse(result: .success(()), data: body, response: response)),
      ("NetworkResponse of data", NetworkResponse(result: .success(body), data: body, response: response)),
      ("NetworkTask", request.task(expecting: NoContent.self)), ("ServiceMessage", message),
      ("NetworkError", NetworkError.service(message)),
      ("AccountAuthenticator", AccountAuthenticator(token: AccessToken("hidden"), endpoints: endpoints)),
      ("AccountAuthenticator.Endpoints", endpoints),
      ("StandardNetworkSession", StandardNetworkSession(environment: { environment })),
      ("MockSession", mock), ("SentRequest", try #require(mock.requests.first)),
      ("MockResponder", MockResponder.response(data: body)),
    ]
  }

  @Test func publicValuesShowNoSecrets() async throws {
    for (name, value) in try await Self.values() { #expect(!showsSecret(value), "\(name)") }
  }
}
