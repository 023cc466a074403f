@_spi(Toolkit) public import MartletSemantics

extension HAR.Entry {
  /// Returns the entry without secrets: in URLs, fields, cookies, bodies and messages of WebSockets. Entries from
  /// browsers contain all of their secrets. An entry that is already redacted does not change.
  @_spi(Toolkit) public func redacted(_ redaction: Redaction) -> HAR.Entry {
    guard !redaction.hidesNothing else { return self }
    var entry = self
    entry.request = request.redacted(redaction)
    entry.response = response.redacted(redaction)
    entry.webSocketMessages = webSocketMessages?.map { $0.redacted(redaction) }
    return entry
  }
}

extension HAR.Request {
  /// Makes a request from the head that is sent, without secrets. The fragment of its URL is omitted, because it is not
  /// sent.
  @_spi(Toolkit) public init(_ head: RequestHead, redaction: Redaction) {
    self.init(method: head.method.rawValue, url: String(head.url.absoluteString.prefix { $0 != "#" }))
    headers = HAR.pairs(head.fields)
    for value in head.fields[values: .cookie] { cookies += value.split(separator: ";").map { HAR.cookie($0) } }
    queryString = HAR.pairs(inQueryOf: url)
    self = redacted(redaction)
  }

  /// Returns the request without secrets.
  @_spi(Toolkit) public func redacted(_ redaction: Redaction) -> HAR.Request {
    guard !redaction.hidesNothing else { return self }
    var request = self
    request.url = redaction.redacted(reference: url)
    request.headers = headers.map { $0.redacted(redaction) }
    request.cookies = cookies.map { $0.redacted(redaction, of: .cookie) }
    // Whether a value is secret may depend on the other parameters.
    if !queryString.isEmpty { request.queryString = HAR.pairs(inQueryOf: request.url) }
    let type = postData.flatMap { MediaType($0.mimeType) } ?? mediaType
    request.postData = postData?.redacted(redaction, type: type)
    return request
  }

  /// The media type in the fields.
  @_spi(Toolkit) public var mediaType: MediaType? {
    headers.first { ASCII.equalIgnoringCase($0.name, "content-type") }.flatMap { MediaType($0.value) }
  }
}

extension HAR.PostData {
  /// Returns the body without secrets. Text that is not valid base64 is removed, because it cannot be searched.
  fileprivate func redacted(_ redaction: Redaction, type: MediaType?) -> HAR.PostData {
    var data = self
    let shown = textBytes.map { HAR.text(of: redaction.redacted($0, type: type), mimeType: mimeType) }
    (data.text, data.encoding) = (shown?.0, shown?.encoding)
    guard let params, let paramsBytes else { return data }
    let form = redaction.redacted(paramsBytes, type: MediaType("application/x-www-form-urlencoded"))
    let pairs = PercentEncoding.form.pairs(in: String(decoding: form, as: UTF8.self))
    data.params = zip(params, pairs).map { param, pair in
      var param = param
      if param.value != nil { param.value = pair.value }
      return param
    }
    return data
  }
}

extension HAR.Response {
  /// Makes a response from a head, without secrets.
  init(_ head: ResponseHead, redaction: Redaction) {
    self.init(
      status: Int64(head.status.code), statusText: head.reason,
      httpVersion: head.version?.description ?? "unknown")
    headers = HAR.pairs(head.fields)
    cookies = head.fields[values: .setCookie].map { HAR.Cookie(setting: $0) }
    redirectURL = head.fields[.location] ?? ""
    self = redacted(redaction)
  }

  /// Returns the response without secrets. Text that is not valid base64 is removed, because it cannot be searched.
  fileprivate func redacted(_ redaction: Redaction) -> HAR.Response {
    guard !redaction.hidesNothing else { return self }
    var response = self
    response.headers = headers.map { $0.redacted(redaction) }
    response.cookies = cookies.map { $0.redacted(redaction, of: .setCookie) }
    response.redirectURL = redaction.redacted(redirectURL, of: .location)
    let shown = content.bytes.map {
      HAR.text(of: redaction.redacted($0, type: MediaType(content.mimeType)), mimeType: content.mimeType)
    }
    (response.content.text, response.content.encoding) = (shown?.0, shown?.encoding)
    return response
  }
}

extension HAR.WebSocketMessage {
  /// Returns the message without secrets. Bytes that are not valid base64 are removed, because they cannot be searched.
  func redacted(_ redaction: Redaction) -> HAR.WebSocketMessage {
    guard !redaction.hidesNothing else { return self }
    var message = self
    switch opcode {
    case 2: message.data = bytes.map { redaction.redacted($0, type: nil).base64EncodedString() } ?? ""
    case 8:
      let reason = data.firstIndex(of: " ").map { data.index(after: $0) } ?? data.endIndex
      message.data = data[..<reason] + Self.redacted(data[reason...], redaction)
    default: message.data = Self.redacted(data[...], redaction)
    }
    return message
  }

  private static func redacted(_ text: Substring, _ redaction: Redaction) -> String {
    String(decoding: redaction.redacted(Data(text.utf8), type: nil), as: UTF8.self)
  }
}

extension HAR.Pair {
  /// Returns the field without secrets. The value of a field with an invalid name counts as a secret.
  fileprivate func redacted(_ redaction: Redaction) -> HAR.Pair {
    var pair = self
    // Some browsers write all lines of Set-Cookie as one value with line breaks.
    let lines = value.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    pair.value =
      (try? FieldName(name)).map { field in
        lines.map { redaction.redacted(String($0), of: field) }.joined(separator: "\n")
      } ?? redaction.placeholder
    return pair
  }
}

extension HAR.Cookie {
  /// Returns the cookie without its value, if the redaction hides the field.
  fileprivate func redacted(_ redaction: Redaction, of field: FieldName) -> HAR.Cookie {
    var cookie = self
    if redaction.hides(field) { cookie.value = redaction.placeholder }
    return cookie
  }
}

extension HAR {
  fileprivate static func pairs(_ fields: HTTPFields) -> [Pair] {
    fields.map { Pair(name: $0.name.rawName, value: $0.value) }
  }

  fileprivate static func pairs(inQueryOf url: String) -> [Pair] {
    guard let start = url.firstIndex(of: "?") else { return [] }
    let query = url[url.index(after: start)...].prefix { $0 != "#" }
    return PercentEncoding.form.pairs(in: query).map { Pair(name: $0.name, value: $0.value) }
  }

  fileprivate static func cookie(_ text: Substring) -> Cookie {
    guard let equals = text.firstIndex(of: "=") else { return Cookie(name: "", value: String(ASCII.trimmed(text))) }
    return Cookie(
      name: String(ASCII.trimmed(text[..<equals])), value: String(ASCII.trimmed(text[text.index(after: equals)...])))
  }
}

extension HAR.Cookie {
  /// Makes a cookie from a `Set-Cookie` line, without checking whether it is valid.
  fileprivate init(setting line: String) {
    let parts = line.split(separator: ";", omittingEmptySubsequences: false)
    self = HAR.cookie(parts.first ?? "")
    for part in parts.dropFirst() {
      let attribute = HAR.cookie(part)
      switch ASCII.lowercased(attribute.name.isEmpty ? attribute.value : attribute.name) {
      case "path": path = attribute.value
      case "domain": domain = attribute.value
      case "expires": expires = CookieDate.parse(attribute.value).map(Timestamp.format)
      case "httponly": httpOnly = true
      case "secure": secure = true
      default: break
      }
    }
  }
}
