package import MartletSemantics

extension HAR.Request {
  /// Makes a request from the head that is sent, without secrets. The fragment of its URL is omitted, because it is not
  /// sent.
  package init(_ head: RequestHead, redaction: Redaction) {
    let target = String(head.url.absoluteString.prefix { $0 != "#" })
    self.init(method: head.method.rawValue, url: redaction.redacted(reference: target))
    headers = HAR.pairs(head.fields, redaction)
    for value in head.fields[values: .cookie] {
      cookies += redaction.redacted(value, of: .cookie).split(separator: ";").map { HAR.cookie($0) }
    }
    let query = url.firstIndex(of: "?").map { url[url.index(after: $0)...] } ?? ""
    queryString = PercentEncoding.form.pairs(in: query).map { HAR.Pair(name: $0.name, value: $0.value) }
  }
}

extension HAR.Response {
  /// Makes a response from a head, without secrets.
  package init(_ head: ResponseHead, redaction: Redaction) {
    self.init(
      status: Int64(head.status.code), statusText: head.status.reasonPhrase,
      httpVersion: head.version?.description ?? "unknown")
    headers = HAR.pairs(head.fields, redaction)
    cookies = head.fields[values: .setCookie].map { HAR.Cookie(setting: redaction.redacted($0, of: .setCookie)) }
    redirectURL = redaction.redacted(head.fields[.location] ?? "", of: .location)
  }
}

extension HAR {
  fileprivate static func pairs(_ fields: HTTPFields, _ redaction: Redaction) -> [Pair] {
    redaction.redacted(fields).map { Pair(name: $0.name.rawName, value: $0.value) }
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
