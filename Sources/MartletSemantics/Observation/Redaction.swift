/// What is kept secret wherever a message is shown: in log lines, cURL commands, recordings, descriptions.
///
/// Secrets are replaced by ``placeholder``, and as much as possible of what is around them stays readable: the scheme of
/// `Authorization`, the names of cookies, the other parameters of a query.
///
/// ```swift
/// let redaction = Redaction.standard.hiding(fields: ["X-Tenant"], names: ["iban"])
/// redaction.redacted(url)       // "https://example.com/pay?amount=10&iban=***"
/// redaction.redacted(fields)    // Authorization: Bearer ***
/// ```
///
/// | what | hidden by default |
/// |---|---|
/// | fields | `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie`, and whatever is named like a secret: `X-API-Key`, `X-CSRF-Token` |
/// | URLs | user information; parameters of query, path and fragment that are named like a secret; also in `Location`, `Referer` and `Link` |
/// | bodies | members of JSON, parameters of URLs in it, fields of forms, urlencoded or multipart, that are named like a secret |
///
/// A name is like a secret if its words say so, however they are put together: `access_token`, `clientSecret`, `password2`,
/// `X-Amz-Signature`, `api_key`, `cardNumber`; `key`, `code` and `sig` only where they are the whole name, and `state` where it stands
/// among the parameters of OAuth. What a value looks like does not matter, except for a `number` that is a payment card's.
/// Bodies of other types are not searched.
public struct Redaction: Sendable, Hashable {
  /// What stands in place of a secret; `***` by default, which may stand in a URL, a form, a field and a JSON string.
  public var placeholder = "***"
  /// Whether all of a query and of a fragment is left out, whatever its names. Not by default; errors do so.
  public var hidesQueries = false
  private var isOff = false
  private var hiddenFields: Set<FieldName> = []
  private var shownFields: Set<FieldName> = []
  private var hiddenNames: Set<String> = []
  private var shownNames: Set<String> = []

  private init() {}

  /// The default everywhere.
  public static let standard = Redaction()

  /// The default of errors: no URL shows its query or fragment.
  public static let strict: Redaction = {
    var redaction = Redaction()
    redaction.hidesQueries = true
    return redaction
  }()

  /// Hides nothing: passwords and tokens are shown. For a place that nobody else can see.
  public static let off: Redaction = {
    var redaction = Redaction()
    redaction.isOff = true
    return redaction
  }()

  /// The same, and these fields and names are secret as well. Case, hyphens and underscores in names do not matter.
  public func hiding(fields: Set<FieldName> = [], names: Set<String> = []) -> Redaction {
    var copy = self
    copy.hiddenFields.formUnion(fields)
    copy.shownFields.subtract(fields)
    copy.hiddenNames.formUnion(names.map(SecretName.joined))
    copy.shownNames.subtract(names.map(SecretName.joined))
    return copy
  }

  /// The same, but these fields and names are no secrets. Case, hyphens and underscores in names do not matter.
  public func showing(fields: Set<FieldName> = [], names: Set<String> = []) -> Redaction {
    var copy = self
    copy.shownFields.formUnion(fields)
    copy.hiddenFields.subtract(fields)
    copy.shownNames.formUnion(names.map(SecretName.joined))
    copy.hiddenNames.subtract(names.map(SecretName.joined))
    return copy
  }

  /// Whether nothing is hidden.
  package var hidesNothing: Bool { isOff }

  /// Whether what has this name, in a query, a form or JSON, is secret.
  public func hides(name: String) -> Bool {
    if isOff { return false }
    let joined = SecretName.joined(name)
    if shownNames.contains(joined) { return false }
    return hiddenNames.contains(joined) || SecretName.isSecret(name)
  }

  /// Whether the value of this field is secret, or holds something that is.
  public func hides(_ field: FieldName) -> Bool {
    if isOff || shownFields.contains(field) { return false }
    if hiddenFields.contains(field) || Self.credentials.contains(field) { return true }
    let joined = SecretName.joined(field.rawName)
    if shownNames.contains(joined) { return false }
    return hiddenNames.contains(joined) || SecretName.isSecretField(field.rawName)
  }

  /// Whether a name is secret, or the value that it has.
  func hides(name: String, value: some StringProtocol) -> Bool {
    hides(name: name) || !isOff && !isShown(name) && SecretName.isCardNumber(value, named: name)
  }

  /// Whether the caller has said that the name is no secret's.
  func isShown(_ name: String) -> Bool { shownNames.contains(SecretName.joined(name)) }

  private static let credentials: Set<FieldName> = [.authorization, .proxyAuthorization, .cookie, .setCookie]
}
