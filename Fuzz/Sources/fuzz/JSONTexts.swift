#if os(Linux)
@testable import MartletEngine
@_spi(Credentials) @_spi(Toolkit) @testable import MartletSemantics
@testable import MartletSignIn
@_spi(Toolkit) import SAPFoundation

/// Texts in JSON. Texts that Foundation's decoder reads have no fault. Any text survives quoting, and none survives
/// redaction as a secret member. Values with exact numbers stay the same when they are written. Answers of an
/// authorization server are read or refused.
enum JSONTexts {
  static func run(_ input: inout Input) throws {
    let data = Data(input.bytes)
    let isUTF8 = !input.bytes.contains(0) && !input.bytes.starts(with: [0xEF, 0xBB, 0xBF])
    if isUTF8, (try? JSONDecoder().decode(JSONValue.self, from: data)) != nil {
      check(JSONSyntax.fault(in: input.bytes) == nil, "\(String(decoding: data, as: UTF8.self).debugDescription)")
    }
    if let value = try? ExactJSON(data) {
      try check(ExactJSON(Data(value.json().utf8)) == value, value.json())
      try check(ExactJSON(Data(value.json(indentation: 0).utf8)) == value, value.json())
    }
    _ = Redaction.standard.redacted(data, type: .json)
    _ = Redaction.standard.redacted(data, type: .form)
    _ = Redaction.standard.redacted(data, type: "text/html")
    _ = Redaction.standard.redacted(data, type: nil)
    _ = try? JSONDecoder().decode(TokenAnswer.self, from: data)
    _ = TokenRefusal(.badRequest, data)
    _ = try? JSONDecoder().decode(DeviceAuthorizationAnswer.self, from: data)

    let text = String(decoding: data, as: UTF8.self)
    let quoted = JSONSyntax.quoted(text)
    try check(JSONDecoder().decode(String.self, from: Data(quoted.utf8)) == text, quoted)
    let secret = Redaction.standard.redacted(Data("{\"password\": \(quoted), \"a\": 1}".utf8), type: .json)
    check(secret == Data("{\"password\": \"***\", \"a\": 1}".utf8), String(decoding: secret, as: UTF8.self))
  }
}
#endif
