import MartletSemantics

/// Says what sends the request (RFC 9110 §10.1.5), where the request does not say so itself.
struct UserAgentInterceptor: Interceptor {
  let value: String

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard !request.fields.contains(.userAgent) else { return request }
    var request = request
    request.fields[.userAgent] = value
    return request
  }
}
