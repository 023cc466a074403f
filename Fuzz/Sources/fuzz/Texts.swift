#if os(Linux)
@testable import MartletEngine
@_spi(Toolkit) @testable import MartletSemantics
@testable import SAPOData

/// Parsers of short texts, all with the same text. The parsed value is the same after it was written and parsed again,
/// is within its limits, and has no line break.
enum Texts {
  private static let now = Date(timeIntervalSince1970: 1_800_000_000)

  static func run(_ input: inout Input) throws {
    let text = String(decoding: input.bytes, as: UTF8.self)
    checkDates(text)
    checkCookies(text)
    checkTypes(text)
    checkEncodings(text)
    checkHosts(text)
    checkFields(text)
    checkCredentials(text)
    checkParts(input.bytes)
  }

  private static func checkDates(_ text: String) {
    if let date = HTTPDate.parse(text, now: now) {
      check(HTTPDate.parse(HTTPDate.format(date), now: now) == date, "\(date)")
    }
    if let date = Timestamp.parse(text) {
      let again = Timestamp.parse(Timestamp.format(date))
      check(again.map { abs($0.timeIntervalSince(date)) < 0.002 } == true, "\(date) became \(again ?? .distantPast)")
    }
    if let date = CookieDate.parse(text) {
      check(CookieDate.parse(HTTPDate.format(date)) == date, "\(date)")
    }
  }

  private static func checkCookies(_ text: String) {
    if let cookie = try? SetCookie(text, now: now) {
      check((cookie.name + cookie.value).utf8.allSatisfy { ![0, 10, 13].contains($0) }, "\(cookie)")
      check(!cookie.name.isEmpty || !cookie.value.isEmpty, "an empty cookie")
    }
    let cookies = NetscapeCookieFile.parse(text, now: now).cookies.map(\.cookie)
    let plain = cookies.filter { cookie in
      (cookie.name + cookie.value + cookie.path).utf8.allSatisfy { ![9, 10, 13].contains($0) }
    }
    let again = NetscapeCookieFile.parse(NetscapeCookieFile.format(cookies), now: now)
    check(again.problems.isEmpty, "\(again.problems)")
    check(again.cookies.map(\.cookie.identity) == plain.map(\.identity), "\(cookies) became \(again.cookies)")
  }

  private static func checkTypes(_ text: String) {
    if let type = MediaType(text) { check(MediaType("\(type)") == type, "\(type)") }
    if let tag = LanguageTag.normalized(text) { check(LanguageTag.normalized(tag) == tag, tag) }
    if let coding = TextCoding(label: text) { _ = coding.text(Data(text.utf8)) }
    for coding in [TextCoding.utf8, .windows1252, .utf16LittleEndian, .utf16BigEndian] {
      _ = coding.text(Data(text.utf8))
    }
    if let range = ContentRange(text), let bytes = range.bytes {
      check(bytes.lowerBound >= 0 && range.size.map { bytes.upperBound < $0 } ?? true, "\(range)")
    }
    if let trace = TraceParent(text) { check(TraceParent(trace.value(span: 7)) != nil, text) }
  }

  private static func checkEncodings(_ text: String) {
    for encoding in [PercentEncoding.pathSegment, .queryComponent, .form, .extendedValue] {
      let encoded = encoding.encode(text)
      check(encoding.decode(encoded) == text, encoded)
      check(encoded.utf8.allSatisfy { (33...126).contains($0) }, encoded)
      _ = encoding.decode(text)
    }
    let pairs = PercentEncoding.form.pairs(in: text)
    let again = PercentEncoding.form.pairs(in: PercentEncoding.form.encode(pairs))
    check(again.map(\.name) == pairs.map(\.name) && again.map(\.value) == pairs.map(\.value), "\(pairs)")
    check(QuotedString.unquoted(QuotedString.quoted(text)[...]) == text, text)
    let elements = FieldList.elements(of: text[...])
    check(elements.allSatisfy { !$0.isEmpty } && elements.joined().utf8.count <= text.utf8.count, "\(elements)")
    if let path = DotSegments.removed(from: text) { check(DotSegments.removed(from: path) == nil, path) }
    if let decoded = try? FieldName(text) { check(decoded.rawName == text, text) }
  }

  private static func checkHosts(_ text: String) {
    if let host = HostName.canonical(text) {
      check(HostName.canonical(host) == host, "\(text.debugDescription): \(host)")
      check(host.utf8.allSatisfy { (33...126).contains($0) }, host.debugDescription)
    }
    if let address = IPAddress(literal: text), address.zone == 0 {
      check(IPAddress(literal: "\(address)") == address, "\(address)")
    }
    _ = IPAddress(loose: text)
    _ = Punycode.encode(label: text)
  }

  private static func checkFields(_ text: String) {
    var fields = HTTPFields()
    for name: FieldName in [
      .link, .cacheControl, .retryAfter, "RateLimit", "RateLimit-Remaining", "RateLimit-Reset", .vary, .acceptRanges,
    ] { fields.append(text, for: name) }
    let links = fields.links
    check(links.reduce(0) { $0 + $1.target.utf8.count } <= text.utf8.count, "\(links)")
    if let base = URL(string: "http://a.example/b") { for link in links { _ = link.url(relativeTo: base) } }
    let control = CacheControl(fields)
    for name in ["max-age", "s-maxage", "no-cache", "private"] {
      _ = (control.seconds(name), control.fieldNames(name), control.isUnqualified(name))
    }
    if let delay = RetryAfter.delay(in: fields, now: now) { check(delay >= .zero, "\(delay)") }
    let head = ResponseHead(status: 429, fields: fields)
    if let pause = RateLimitFields.pause(after: head, now: now) { check(pause >= .zero, "\(pause)") }
  }

  /// Parts and the messages in them are pieces of the body.
  private static func checkParts(_ bytes: [UInt8]) {
    let parts = MultipartReader.parts(of: bytes[...], boundary: "b") ?? []
    check(parts.reduce(0) { $0 + $1.content.count } <= bytes.count, "\(parts.count) parts")
    for part in parts { _ = MultipartReader.response(in: part.content) }
    if let response = MultipartReader.response(in: bytes[...]) { check(response.body.count <= bytes.count, "too long") }
  }

  private static func checkCredentials(_ text: String) {
    var fields = HTTPFields()
    for name: FieldName in [.wwwAuthenticate, .authenticationInfo] { fields.append(text, for: name) }
    let challenges = AuthenticationChallenge.challenges(in: fields)
    for challenge in challenges { _ = (BearerError(challenge), "\(challenge)") }
    if let url = URL(string: "http://a.example/b?c"),
      let challenge = PasswordChallenge.strongest(of: challenges, realm: nil)
    {
      var memory = PasswordMemory()
      memory.adopt(challenge, with: Credential(user: "anna", password: "secret"), for: url, clientNonce: "nonce")
      if let answer = memory.answer(to: (.get, url), in: nil) {
        memory.markAccepted(answer, by: url, nextNonce: AuthenticationInfo(fields)?.nextNonce)
      }
    }
    _ = try? Netrc(parsing: text).credential(for: "a.example")
  }
}
#endif
