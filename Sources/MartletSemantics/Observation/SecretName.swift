/// Whether a name is that of a secret, judged by its words.
enum SecretName {
  static func isSecret(_ name: String) -> Bool {
    let joined = joined(name)
    if wholeNames.contains(joined) { return true }
    let words = words(of: name)
    guard let last = words.last else { return false }
    if words.first == "x", wholeNames.contains(String(joined.dropFirst())) { return true }  // X-Auth
    let previous = words.dropLast().last
    if words.contains(where: anywhere.contains) { return true }
    if last == "token", let previous, pagingTokens.contains(previous) { return false }
    if endings.contains(where: joined.hasSuffix) { return true }
    switch (previous, last) {
    case (let previous?, "key"): return keys.contains(previous)
    case (let previous?, "code"): return codes.contains(previous)
    case (let previous?, "number"), (let previous?, "num"), (let previous?, "no"): return cards.contains(previous)
    case ("session"?, "id"): return true
    default: return false
    }
  }

  /// Whether a field's name is that of a secret. The fields of CORS say what is allowed: `Access-Control-Allow-Credentials`.
  static func isSecretField(_ name: String) -> Bool {
    !ASCII.lowercased(name).hasPrefix("access-control-") && isSecret(name)
  }

  /// Whether the `state` of OAuth 2.0 (RFC 6749 §4.1.1, §4.1.2, §4.2.2) stands among parameters of these names: by itself the
  /// name is too common.
  static func isStateSecret(among names: [String]) -> Bool { names.contains { stateCompanions.contains(joined($0)) } }

  /// Whether the value of a member named `number` is that of a payment card: 12 to 19 digits, in groups or not, with the check
  /// digit of ISO/IEC 7812-1.
  static func isCardNumber(_ value: some StringProtocol, named name: String) -> Bool {
    guard joined(name) == "number" else { return false }
    let digits = value.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "-") }
    guard (12...19).contains(digits.count), digits.allSatisfy(ASCII.isDigit) else { return false }
    let sum = digits.reversed().enumerated().reduce(0) { sum, digit in
      let value = Int(digit.element - 48) * (digit.offset % 2 == 0 ? 1 : 2)
      return sum + value / 10 + value % 10
    }
    return sum % 10 == 0
  }

  /// The letters and digits of a name in lower case: how names are compared.
  static func joined(_ name: String) -> String {
    String(decoding: name.utf8.filter(isWordByte).map(ASCII.lowercased), as: UTF8.self)
  }

  /// The words of `access_token`, `X-API-Key`, `clientSecret2` in lower case, without digits at their ends.
  static func words(of name: String) -> [String] {
    let bytes = Array(name.utf8)
    var words: [[UInt8]] = [[]]
    for (index, byte) in bytes.enumerated() {
      guard isWordByte(byte) else {
        words.append([])
        continue
      }
      if isUpper(byte), index > 0 {
        let followsLower = !isUpper(bytes[index - 1])
        let endsAcronym = index + 1 < bytes.count && isLower(bytes[index + 1])  // the K of APIKey
        if followsLower || endsAcronym { words.append([]) }
      }
      words[words.count - 1].append(ASCII.lowercased(byte))
    }
    return words.compactMap { word in
      let end = word.lastIndex { !ASCII.isDigit($0) }
      return end.map { String(decoding: word[...$0], as: UTF8.self) }
    }
  }

  private static func isUpper(_ byte: UInt8) -> Bool { (65...90).contains(byte) }
  private static func isLower(_ byte: UInt8) -> Bool { (97...122).contains(byte) }
  private static func isWordByte(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte >= 128
  }

  /// Secret wherever they stand in a name.
  private static let anywhere: Set<String> = [
    "password", "passwd", "pwd", "passphrase", "passcode", "secret", "credential", "credentials", "apikey", "jwt",
    "otp",
    "totp",
  ]

  /// Secret at the end of a name, also without anything between: `authtoken`.
  private static let endings = [
    "token", "password", "passwd", "secret", "apikey", "signature", "authorization", "privatekey",
  ]

  /// Secret as the whole name, and too common within others.
  private static let wholeNames: Set<String> = [
    "key", "code", "sig", "auth", "pass", "pin", "cvv", "cvc", "sid", "session", "sessionid", "jsessionid", "phpsessid",
    "aspnetsessionid", "hmac", "bearer", "assertion", "clientassertion", "samlresponse", "samlrequest", "samlart",
    "codeverifier", "idtokenhint", "csrf", "xsrf", "csrfmiddleware", "accesskey", "authkey", "secretkey", "cookie",
    "setcookie", "dpop", "cvv2", "cvc2", "pan", "primaryaccountnumber", "cardnumber", "cardno", "cardnum", "creditcard",
    "debitcard", "creditcardnumber", "ccnumber", "ccnum", "ccno",
  ]

  /// A key of these is secret; a sort key or a primary key is not.
  private static let keys: Set<String> = [
    "api", "access", "auth", "private", "subscription", "account", "encryption", "signing", "master", "shared",
    "storage",
    "functions", "function", "session", "license", "client", "service", "admin", "app", "application",
  ]

  /// A code of these is secret; a country code or an error code is not.
  private static let codes: Set<String> = [
    "auth", "authorization", "verification", "security", "device", "recovery", "login", "access", "backup",
  ]

  /// A number of these is secret; an order number is not.
  private static let cards: Set<String> = ["card", "cc", "creditcard", "debitcard"]

  /// Parameters that stand beside the `state` of OAuth 2.0 and OpenID Connect.
  private static let stateCompanions: Set<String> = [
    "code", "clientid", "responsetype", "redirecturi", "accesstoken", "idtoken", "idtokenhint", "sessionstate", "iss",
    "error",
  ]

  /// Tokens of these say where a list goes on, and open nothing.
  private static let pagingTokens: Set<String> = ["page", "next", "continuation", "sync", "cursor", "cancellation"]
}
