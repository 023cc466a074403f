import Synchronization

/// The name of a header or trailer field: a token, compared case-insensitively (RFC 9110 §5.1).
///
/// A value of this type is always valid. Use a literal (`let name: FieldName = "X-Request-Id"`) or one of the constants
/// (`.contentType`) for names that are known at compile time. For names from outside the program, use
/// ``init(_:)-swift.init``, which throws.
public struct FieldName: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The original name, which is sent over HTTP/1.1.
  public var rawName: String { text.raw }
  /// The name in lower case, for comparing, hashing and sending over HTTP/2.
  public var canonicalName: String { text.canonical }

  /// Whether the field's value is a secret, by the words of the name.
  package var isSecret: Bool { text.isSecret }

  /// One reference: names are copied with every line, and most comparisons are of the same object.
  private let text: Text

  private final class Text: Sendable {
    let raw: String
    let canonical: String
    /// A number that is the same for equal names and few others. It is not a hash for tables: a server could fill a
    /// table with names of the same number.
    let number: Int
    /// The first byte of the canonical name.
    let first: UInt8
    private let secrecy = Atomic(Secrecy.unknown)

    private enum Secrecy: UInt8, AtomicRepresentable { case unknown, isSecret, isPublic }

    var isSecret: Bool {
      switch secrecy.load(ordering: .relaxed) {
      case .isSecret: return true
      case .isPublic: return false
      case .unknown:
        let isSecret = SecretName.isSecretField(raw)
        secrecy.store(isSecret ? .isSecret : .isPublic, ordering: .relaxed)
        return isSecret
      }
    }

    init(_ name: String) {
      raw = name
      canonical = name.utf8.contains { (65...90).contains($0) } ? ASCII.lowercased(name) : name
      number = canonical.utf8.reduce(canonical.utf8.count) { $0 &* 31 &+ Int($1) }
      first = canonical.utf8.first ?? 0
    }
  }

  /// Makes a name from text from outside the program.
  ///
  /// - Throws: ``HTTPFields/Refusal/invalidName(_:)`` if the text is not a token.
  public init(_ name: String) throws(HTTPFields.Refusal) {
    guard Token.isValid(name) else { throw .invalidName(name) }
    self.init(unchecked: name)
  }

  /// Makes a name from a literal.
  ///
  /// A literal that is not a token is a programming error and stops the program.
  public init(stringLiteral value: String) {
    precondition(
      Token.isValid(value),
      "'\(value)' is not a field name: use letters, digits and !#$%&'*+-.^_`|~ only (RFC 9110 §5.1)")
    self.init(unchecked: value)
  }

  package init(unchecked name: String) { text = Text(name) }

  /// Compares case-insensitively.
  public static func == (left: Self, right: Self) -> Bool {
    left.text === right.text || left.text.number == right.text.number && left.text.canonical == right.text.canonical
  }

  /// Hashes case-insensitively.
  public func hash(into hasher: inout Hasher) { hasher.combine(text.canonical) }

  /// The original name.
  public var description: String { rawName }
}

/// A set of field names with a common meaning. Most lookups are answered at once: the name is not in the set.
package struct FieldNames: Sendable, ExpressibleByArrayLiteral {
  private let names: [FieldName]
  /// The bits of all names.
  private let bits: UInt64

  package init(arrayLiteral elements: FieldName...) {
    names = elements
    bits = elements.reduce(0) { $0 | $1.bit }
  }

  package func contains(_ name: FieldName) -> Bool { bits & name.bit != 0 && names.contains(name) }
}

extension FieldName {
  /// One of 64 bits, the same for equal names and few others.
  var bit: UInt64 { Self.bit(of: canonicalName.utf8.count, text.first) }

  /// - Parameters:
  ///   - count: the length of the name.
  ///   - first: its first byte, in lower case.
  static func bit(of count: Int, _ first: UInt8) -> UInt64 { 1 << UInt64((count &* 7 &+ Int(first)) & 63) }
}

extension HTTPFields {
  /// The reason why a header field was refused.
  @nonexhaustive public enum Refusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name is empty or contains a character that is not allowed in a token (RFC 9110 §5.1).
    case invalidName(String)
    /// The value of the named field contains CR, LF, NUL or another control character (RFC 9110 §5.5).
    ///
    /// The value itself is not kept, because it may be a secret.
    case invalidValue(name: String)

    /// The problem and how to fix it. The value is never included.
    public var description: String {
      switch self {
      case .invalidName(let name):
        "the field name \(String(reflecting: name)) is not a token: use letters, digits and !#$%&'*+-.^_`|~ only"
      case .invalidValue(let name):
        "the value of the field '\(name)' contains a control character: remove CR, LF, NUL and the like, or encode them"
      }
    }
  }
}

extension FieldName {
  /// `Accept` (RFC 9110 §12.5.1).
  public static let accept = FieldName(unchecked: "Accept")
  /// `Accept-Encoding` (RFC 9110 §12.5.3).
  public static let acceptEncoding = FieldName(unchecked: "Accept-Encoding")
  /// `Accept-Language` (RFC 9110 §12.5.4).
  public static let acceptLanguage = FieldName(unchecked: "Accept-Language")
  /// `Accept-Ranges` (RFC 9110 §14.3).
  public static let acceptRanges = FieldName(unchecked: "Accept-Ranges")
  /// `Age` (RFC 9111 §5.1).
  public static let age = FieldName(unchecked: "Age")
  /// `Allow` (RFC 9110 §10.2.1).
  public static let allow = FieldName(unchecked: "Allow")
  /// `Authentication-Info` (RFC 9110 §11.6.3).
  public static let authenticationInfo = FieldName(unchecked: "Authentication-Info")
  /// `Authorization` (RFC 9110 §11.6.2).
  public static let authorization = FieldName(unchecked: "Authorization")
  /// `Cache-Control` (RFC 9111 §5.2).
  public static let cacheControl = FieldName(unchecked: "Cache-Control")
  /// `Connection` (RFC 9110 §7.6.1).
  public static let connection = FieldName(unchecked: "Connection")
  /// `Content-Digest` (RFC 9530 §2).
  public static let contentDigest = FieldName(unchecked: "Content-Digest")
  /// `Content-Disposition` (RFC 6266).
  public static let contentDisposition = FieldName(unchecked: "Content-Disposition")
  /// `Content-Encoding` (RFC 9110 §8.4).
  public static let contentEncoding = FieldName(unchecked: "Content-Encoding")
  /// `Content-Language` (RFC 9110 §8.5).
  public static let contentLanguage = FieldName(unchecked: "Content-Language")
  /// `Content-Length` (RFC 9110 §8.6).
  public static let contentLength = FieldName(unchecked: "Content-Length")
  /// `Content-Location` (RFC 9110 §8.7).
  public static let contentLocation = FieldName(unchecked: "Content-Location")
  /// `Content-Range` (RFC 9110 §14.4).
  public static let contentRange = FieldName(unchecked: "Content-Range")
  /// `Content-Type` (RFC 9110 §8.3).
  public static let contentType = FieldName(unchecked: "Content-Type")
  /// `Cookie` (RFC 6265 §5.4).
  public static let cookie = FieldName(unchecked: "Cookie")
  /// `Date` (RFC 9110 §6.6.1).
  public static let date = FieldName(unchecked: "Date")
  /// `Digest` (RFC 3230 §4.3.2, obsolete but in use).
  public static let digest = FieldName(unchecked: "Digest")
  /// `ETag` (RFC 9110 §8.8.3).
  public static let eTag = FieldName(unchecked: "ETag")
  /// `Expect` (RFC 9110 §10.1.1).
  public static let expect = FieldName(unchecked: "Expect")
  /// `Expires` (RFC 9111 §5.3).
  public static let expires = FieldName(unchecked: "Expires")
  /// `Host` (RFC 9110 §7.2).
  public static let host = FieldName(unchecked: "Host")
  /// `If-Match` (RFC 9110 §13.1.1).
  public static let ifMatch = FieldName(unchecked: "If-Match")
  /// `If-Modified-Since` (RFC 9110 §13.1.3).
  public static let ifModifiedSince = FieldName(unchecked: "If-Modified-Since")
  /// `If-Unmodified-Since` (RFC 9110 §13.1.4).
  static let ifUnmodifiedSince: FieldName = "If-Unmodified-Since"
  /// `If-None-Match` (RFC 9110 §13.1.2).
  public static let ifNoneMatch = FieldName(unchecked: "If-None-Match")
  /// `If-Range` (RFC 9110 §13.1.5).
  public static let ifRange = FieldName(unchecked: "If-Range")
  /// `Last-Modified` (RFC 9110 §8.8.2).
  public static let lastModified = FieldName(unchecked: "Last-Modified")
  /// `Link` (RFC 8288 §3).
  public static let link = FieldName(unchecked: "Link")
  /// `Location` (RFC 9110 §10.2.2).
  public static let location = FieldName(unchecked: "Location")
  /// `Origin` (RFC 6454 §7).
  public static let origin = FieldName(unchecked: "Origin")
  /// `Pragma` (RFC 9111 §5.4).
  public static let pragma = FieldName(unchecked: "Pragma")
  /// `Proxy-Authenticate` (RFC 9110 §11.7.1).
  public static let proxyAuthenticate = FieldName(unchecked: "Proxy-Authenticate")
  /// `Proxy-Authorization` (RFC 9110 §11.7.2).
  public static let proxyAuthorization = FieldName(unchecked: "Proxy-Authorization")
  /// `Range` (RFC 9110 §14.2).
  public static let range = FieldName(unchecked: "Range")
  /// `Referer` (RFC 9110 §10.1.3).
  public static let referer = FieldName(unchecked: "Referer")
  /// `Repr-Digest` (RFC 9530 §3).
  public static let reprDigest = FieldName(unchecked: "Repr-Digest")
  /// `Retry-After` (RFC 9110 §10.2.3).
  public static let retryAfter = FieldName(unchecked: "Retry-After")
  /// `Set-Cookie` (RFC 6265 §4.1).
  public static let setCookie = FieldName(unchecked: "Set-Cookie")
  /// `TE` (RFC 9110 §10.1.4).
  public static let te = FieldName(unchecked: "TE")
  /// `Trailer` (RFC 9110 §6.6.2).
  public static let trailer = FieldName(unchecked: "Trailer")
  /// `Transfer-Encoding` (RFC 9112 §6.1).
  public static let transferEncoding = FieldName(unchecked: "Transfer-Encoding")
  /// `Upgrade` (RFC 9110 §7.8).
  public static let upgrade = FieldName(unchecked: "Upgrade")
  /// `User-Agent` (RFC 9110 §10.1.5).
  public static let userAgent = FieldName(unchecked: "User-Agent")
  /// `Vary` (RFC 9110 §12.5.5).
  public static let vary = FieldName(unchecked: "Vary")
  /// `Via` (RFC 9110 §7.6.3).
  public static let via = FieldName(unchecked: "Via")
  /// `Want-Content-Digest` (RFC 9530 §4).
  public static let wantContentDigest = FieldName(unchecked: "Want-Content-Digest")
  /// `Want-Repr-Digest` (RFC 9530 §4).
  public static let wantReprDigest = FieldName(unchecked: "Want-Repr-Digest")
  /// `WWW-Authenticate` (RFC 9110 §11.6.1).
  public static let wwwAuthenticate = FieldName(unchecked: "WWW-Authenticate")
}
