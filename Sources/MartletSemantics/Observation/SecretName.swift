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
    case ("session"?, "id"): return true
    default: return false
    }
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
    "setcookie",
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

  /// Tokens of these say where a list goes on, and open nothing.
  private static let pagingTokens: Set<String> = ["page", "next", "continuation", "sync", "cursor", "cancellation"]
}
