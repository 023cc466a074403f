@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletURLSession
@_spi(Toolkit) import SAPFoundation

/// The session and the options of one call, and how a request is sent with them.
struct ODataConnection: Sendable {
  let session: SAPURLSession
  let root: ODataRoot
  let options: ServiceOptions
  let network: NetworkOptions
  let tracing: ODataTracing

  static let tokenRemedy =
    "the service requires a CSRF token, or refused the session's: register CSRFTokenObserver(rootUrl: serviceRoot) with "
    + "the session, which needs cookies, too, and let its root be that of the service"

  var format: ODataFormat { ODataFormat(options.dataVersion, quotesNumbers: options.ieee754Compatible) }

  /// Sends an operation, and returns its answer if that is a success.
  func send(_ operation: ODataOperation) async throws -> ODataAnswer {
    let url = try root.url(operation.path, operation.options(format.version), format.version)
    var request = makeRequest(operation.method(format.version), url, operation.fields(format))
    request.httpBody = try operation.body.map { Data(try $0(format).json().utf8) }
    return try await send(request)
  }

  /// Makes a request. A method that a proxy refuses is tunnelled.
  func makeRequest(_ method: HTTPMethod, _ url: URL, _ fields: [(name: String, value: String)]) -> URLRequest {
    var request = URLRequest(url: url)
    let isTunneled = network.tunneledMethods.contains(method.rawValue)
    request.httpMethod = isTunneled ? "POST" : method.rawValue
    if isTunneled { request.setValue(method.rawValue, forHTTPHeaderField: "X-HTTP-Method") }
    if !network.compressResponses { request.setValue("identity", forHTTPHeaderField: "Accept-Encoding") }
    for field in fields { request.setValue(field.value, forHTTPHeaderField: field.name) }
    return request
  }

  /// Sends a request, and collects its body. A change has to be answered by the service itself.
  func send(_ request: URLRequest, uploading upload: SAPURLSessionTask.Upload? = nil) async throws -> ODataAnswer {
    let (bytes, head) = try await open(request, uploading: upload)
    var answer = ODataAnswer(head: head, body: Data(), url: request.url)
    do { answer.body = try await collect(bytes, upTo: options.limits.responseBytes) } catch {
      guard head.status == .created, bytes.task.objection(to: head.fields, body: Data()) == nil else { throw error }
      throw ODataError(notReading: error, try answer.receipt)
    }
    tracing.trace(answer, to: request)
    try answer.check(options)
    if request.httpMethod != "GET", let objection = bytes.task.objection(to: head.fields, body: answer.body) {
      throw ODataError.unconfirmed(objection)
    }
    return answer
  }

  /// Sends a request, and returns at the head of the response, whatever its status.
  func open(
    _ request: URLRequest, uploading upload: SAPURLSessionTask.Upload? = nil
  ) async throws -> (SAPURLSession.AsyncBytes, ResponseHead) {
    let (bytes, response) = try await session.bytes(for: request, uploading: upload)
    guard let response = response as? HTTPURLResponse else {
      throw ODataError(.invalidResponse, "the response is not an HTTP response")
    }
    return (bytes, ReceivedHead.head(of: response))
  }

  func collect(_ bytes: SAPURLSession.AsyncBytes, upTo limit: Int) async throws -> Data {
    var body = Data()
    var chunks = bytes.makeAsyncIterator()
    while let chunk = try await chunks.nextChunk() {
      guard body.count + chunk.count <= limit else {
        throw ODataError(
          .responseTooLarge,
          "the response has more than \(limit) bytes: select fewer properties, ask for smaller pages, or raise "
            + "serviceOptions.limits.responseBytes")
      }
      body.append(chunk)
    }
    return body
  }
}

/// The settings for tracing requests.
struct ODataTracing: Sendable {
  var isOn = false
  var hasBodies = false
  var isPretty = false
  /// The number of bytes of a body that are written.
  private static let lengthLimit = 64 << 10
  private static let logger = Logger.shared(named: "SAP.OData.OnlineODataProvider")

  func trace(_ answer: ODataAnswer, to request: URLRequest) {
    guard isOn, Self.logger.isEnabled(.info), let url = request.url else { return }
    let tunneled = request.value(forHTTPHeaderField: "X-HTTP-Method").map { " (\($0))" } ?? ""
    var text = "\(request.httpMethod ?? "GET")\(tunneled) \(Redaction.strict.redacted(url)): \(answer.head.statusText)"
    if hasBodies {
      let sent = request.value(forHTTPHeaderField: "Content-Type") ?? ""
      text +=
        body("\n> ", request.httpBody ?? Data(), sent) + body("\n< ", answer.body, answer.head.fields[.contentType])
    }
    Self.logger.info(SessionLog.withoutKeys(text))
  }

  private func body(_ mark: String, _ data: Data, _ type: String?) -> String {
    guard !data.isEmpty else { return "" }
    let type = type.flatMap { MediaType($0) }
    guard type?.subtype == "json" else { return "\(mark)(\(data.count) bytes)" }
    var shown = Redaction.standard.redacted(data, type: type)
    if isPretty, let json = try? ODataJSON(shown) { shown = Data(json.json(indentation: 0).utf8) }
    return mark + String(decoding: shown.prefixOfText(Self.lengthLimit), as: UTF8.self)
  }
}
