import Synchronization

/// Decides by the words of a name whether it names a secret.
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

  /// Whether a field name names a secret. CORS fields such as `Access-Control-Allow-Credentials` do not.
  static func isSecretField(_ name: String) -> Bool {
    if let isSecret = knownFields.withLock({ $0[name] }) { return isSecret }
    let isSecret = !ASCII.lowercased(name).hasPrefix("access-control-") && isSecret(name)
    if name.utf8.count <= 64 {
      knownFields.withLock { known in
        if known.count >= 256 { known.removeAll() }
        known[name] = isSecret
      }
    }
    return isSecret
  }

  /// The results for recent field names, because reading their words takes long.
  private static let knownFields = Mutex<[String: Bool]>([:])

  /// Whether `state` beside parameters with these names belongs to OAuth 2.0 (RFC 6749 §4.1.1, §4.1.2, §4.2.2). The
  /// name alone is too common.
  static func isStateSecret(among names: [String]) -> Bool { names.contains { stateCompanions.contains(joined($0)) } }

  /// Whether a member named `number` is a payment card number: 12 to 19 digits, with or without groups, with the check
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

  /// Returns the letters and digits of a name in lower case, for comparison.
  static func joined(_ name: String) -> String {
    String(decoding: name.utf8.filter(isWordByte).map(ASCII.lowercased), as: UTF8.self)
  }

  /// Returns the words of `access_token`, `X-API-Key` or `clientSecret2` in lower case, without trailing digits.
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

  /// Words that make any name secret.
  private static let anywhere: Set<String> = [
    "password", "passwd", "pwd", "passphrase", "passcode", "secret", "credential", "credentials", "apikey", "jwt",
    "otp",
    "totp",
  ]

  /// Endings that make a name secret, even within a word: `authtoken`.
  private static let endings = [
    "token", "password", "passwd", "secret", "apikey", "signature", "authorization", "privatekey",
  ]

  /// Names that are secret only as a whole: as parts of other names they are too common.
  private static let wholeNames: Set<String> = [
    "key", "code", "sig", "auth", "pass", "pin", "cvv", "cvc", "sid", "session", "sessionid", "jsessionid", "phpsessid",
    "aspnetsessionid", "hmac", "bearer", "assertion", "clientassertion", "samlresponse", "samlrequest", "samlart",
    "codeverifier", "idtokenhint", "csrf", "xsrf", "csrfmiddleware", "accesskey", "authkey", "secretkey", "cookie",
    "setcookie", "dpop", "cvv2", "cvc2", "pan", "primaryaccountnumber", "cardnumber", "cardno", "cardnum", "creditcard",
    "debitcard", "creditcardnumber", "ccnumber", "ccnum", "ccno",
  ]

  /// Words that make a name ending in "key" secret, unlike sort or primary keys.
  private static let keys: Set<String> = [
    "api", "access", "auth", "private", "subscription", "account", "encryption", "signing", "master", "shared",
    "storage",
    "functions", "function", "session", "license", "client", "service", "admin", "app", "application",
  ]

  /// Words that make a name ending in "code" secret, unlike country or error codes.
  private static let codes: Set<String> = [
    "auth", "authorization", "verification", "security", "device", "recovery", "login", "access", "backup",
  ]

  /// Words that make a name ending in "number" secret, unlike order numbers.
  private static let cards: Set<String> = ["card", "cc", "creditcard", "debitcard"]

  /// Parameters that occur together with the `state` of OAuth 2.0 and OpenID Connect.
  private static let stateCompanions: Set<String> = [
    "code", "clientid", "responsetype", "redirecturi", "accesstoken", "idtoken", "idtokenhint", "sessionstate", "iss",
    "error",
  ]

  /// Words before "token" that mean a position in a list, which is not secret.
  private static let pagingTokens: Set<String> = ["page", "next", "continuation", "sync", "cursor", "cancellation"]
}
