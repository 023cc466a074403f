extension Redaction {
  /// The fields without their secrets; order and repeated lines are kept.
  public func redacted(_ fields: HTTPFields) -> HTTPFields {
    var redacted = HTTPFields()
    for (name, value) in fields { redacted.append(self.redacted(value, of: name), for: name) }
    return redacted
  }

  /// A field's value without its secrets.
  public func redacted(_ value: String, of field: FieldName) -> String {
    guard !hidesNothing else { return value }
    switch field {
    case .location, .contentLocation, .referer: return redacted(reference: value)
    case .link: return links(in: value)
    default: break
    }
    guard hides(field) else { return value }
    switch field {
    case .authorization, .proxyAuthorization: return credentials(value)
    case .cookie: return pairs(value[...])
    case .setCookie:
      let end = value.firstIndex(of: ";") ?? value.endIndex
      return pairs(value[..<end]) + value[end...]
    default: return placeholder
    }
  }

  /// The scheme stays where it is one that everybody knows; another first word may be half of the secret.
  private func credentials(_ value: String) -> String {
    let scheme = value.prefix { $0 != " " }
    return scheme.count < value.count && Self.schemes.contains(ASCII.lowercased(scheme))
      ? "\(scheme) \(placeholder)" : placeholder
  }

  private static let schemes: Set<String> = [
    "basic", "bearer", "digest", "negotiate", "ntlm", "dpop", "hoba", "mutual", "oauth", "hawk", "scram-sha-1",
    "scram-sha-256", "aws4-hmac-sha256", "sharedkey", "token", "apikey",
  ]

  /// `a=1; b=2` without the values. A cookie without a name is all value.
  private func pairs(_ text: Substring) -> String {
    text.split(separator: ";", omittingEmptySubsequences: false)
      .map { pair in
        guard let equals = pair.firstIndex(of: "=") else { return placeholder }
        return pair[...equals] + placeholder
      }
      .joined(separator: "; ").replacing(";  ", with: "; ")
  }

  /// `<https://…>; rel="next"`: what stands between angle brackets is a reference.
  private func links(in value: String) -> String {
    var text = ""
    var rest = value[...]
    while let start = rest.firstIndex(of: "<"), let end = rest[start...].firstIndex(of: ">") {
      text += rest[...start]
      text += redacted(reference: String(rest[rest.index(after: start)..<end]))
      rest = rest[end...]
    }
    return text + rest
  }
}
