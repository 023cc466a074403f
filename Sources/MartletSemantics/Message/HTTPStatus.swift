/// The status code of a response (RFC 9110 §15). Write it as a number or by name: `status == 404`, `.notFound`.
public struct HTTPStatus: Sendable, Hashable, Comparable, ExpressibleByIntegerLiteral, CustomStringConvertible {
  /// The three digits.
  public let code: Int

  /// Makes a status from its number.
  public init(_ code: Int) { self.code = code }

  /// Makes a status from a literal.
  public init(integerLiteral value: Int) { code = value }

  /// The first digit's meaning (RFC 9110 §15).
  public enum Class: Sendable, Hashable {
    /// 1xx: an interim response.
    case informational
    /// 2xx: received, understood and accepted.
    case successful
    /// 3xx: further action is needed.
    case redirection
    /// 4xx: the request is at fault.
    case clientError
    /// 5xx: the server failed.
    case serverError
    /// Outside 100…599; to be treated as a 5xx (RFC 9110 §15).
    case invalid
  }

  /// The class of the code.
  public var `class`: Class {
    switch code {
    case 100..<200: .informational
    case 200..<300: .successful
    case 300..<400: .redirection
    case 400..<500: .clientError
    case 500..<600: .serverError
    default: .invalid
    }
  }

  /// Whether the code is a 1xx.
  public var isInformational: Bool { self.class == .informational }
  /// Whether the code is a 2xx.
  public var isSuccessful: Bool { self.class == .successful }
  /// Whether the code is a 3xx.
  public var isRedirection: Bool { self.class == .redirection }
  /// Whether the code is a 4xx.
  public var isClientError: Bool { self.class == .clientError }
  /// Whether the code is a 5xx.
  public var isServerError: Bool { self.class == .serverError }

  /// Orders statuses by their code.
  public static func < (left: Self, right: Self) -> Bool { left.code < right.code }

  /// Code and phrase, `404 Not Found`; the code alone where it has no phrase.
  public var description: String { reasonPhrase.isEmpty ? "\(code)" : "\(code) \(reasonPhrase)" }
}
