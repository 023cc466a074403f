/// How a response of Mobile Services differs from what was expected. (SAP publishes a type of this name in several
/// errors, and not its cases.)
public enum SAPcpmsMalformedType: Sendable, Hashable {
  /// A field that is always there is missing.
  case missingKey
  /// The response is not JSON, or a field has another type.
  case invalidType
}

extension URLRequest {
  /// Makes a request for JSON.
  init(_ method: String = SAPURLSession.HTTPMethod.get, service url: URL, json: Data? = nil) {
    self.init(url: url)
    httpMethod = method
    httpBody = json
    setValue(SAPURLSession.HTTPContentType.applicationJSON, forHTTPHeaderField: SAPURLSession.HTTPHeader.accept)
    guard json != nil else { return }
    setValue(SAPURLSession.HTTPContentType.applicationJSON, forHTTPHeaderField: SAPURLSession.HTTPHeader.contentType)
  }
}

extension SAPURLSession {
  /// Sends a request. The handler is called on ``delegateQueue``, with what a closure makes of the response, or with
  /// the error: an ``UnconfirmedChange`` if the request is a change that the response does not confirm.
  func send<Value>(
    _ request: URLRequest, _ read: @escaping @Sendable (Data, URLResponse?) throws -> Value,
    _ completionHandler: @escaping @Sendable (Value?, (any Error)?) -> Void
  ) {
    let task = dataTask(with: request)
    let isChange = request.httpMethod != HTTPMethod.get
    let receive: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { [weak task] data, response, error in
      do {
        if let error { throw error }
        let value = try read(data ?? Data(), response)
        if isChange, let response { try task?.checkConfirmation(response, data ?? Data()) }
        completionHandler(value, nil)
      } catch { completionHandler(nil, error) }
    }
    task.mutable.withLock { $0.delivery = .whole(receive) }
    task.resume()
  }

  /// Sends a request, and returns what a closure makes of the response.
  func value<Value>(
    of request: URLRequest, _ read: (Data, URLResponse?) throws -> Value
  ) async throws -> sending Value {
    let (data, response) = try await data(for: request)
    return try read(data, response)
  }
}
