import MartletEngine
public import MartletSemantics

/// A statement with which a client authenticates itself in place of a password (RFC 7521 §4.2): usually a signed JSON
/// Web Token (RFC 7523 §2.2), which the product `MartletSignatures` makes.
///
/// It is made anew for each request, because servers accept it only once.
public struct ClientAssertion: Sendable, Hashable {
  /// The type of JSON Web Tokens (RFC 7523 §2.2).
  public static let jwtBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  /// The format (`client_assertion_type`): a URI.
  public let type: String
  private let make: @Sendable (_ clientID: String, _ endpoint: URL) async throws -> String
  /// Equal for copies.
  private let identity = UUID()

  /// Makes an assertion.
  ///
  /// - Parameters:
  ///   - type: the format; that of JSON Web Tokens by default.
  ///   - make: returns the text (`client_assertion`) for a client and the endpoint to which it is sent. An error that
  ///     it throws fails the request for the token.
  public init(
    type: String = ClientAssertion.jwtBearer,
    make: @escaping @Sendable (_ clientID: String, _ endpoint: URL) async throws -> String
  ) {
    (self.type, self.make) = (type, make)
  }

  /// Whether one is a copy of the other.
  public static func == (left: ClientAssertion, right: ClientAssertion) -> Bool { left.identity == right.identity }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(identity) }

  /// Returns a new text (`client_assertion`).
  ///
  /// - Parameters:
  ///   - clientID: the identifier of the client.
  ///   - endpoint: the URL to which it is sent.
  /// - Throws: the error of the closure.
  public func text(for clientID: String, at endpoint: URL) async throws -> String {
    try await make(clientID, endpoint)
  }

  /// The pairs of a form.
  func pairs(for clientID: String, at endpoint: URL) async throws(HTTPError) -> [(name: String, value: String)] {
    do {
      let text = try await text(for: clientID, at: endpoint)
      return [(name: "client_assertion_type", value: type), (name: "client_assertion", value: text)]
    } catch { throw HTTPError(credentialsFailed: "the client cannot be authenticated", with: error) }
  }
}

extension ClientAssertion: CustomStringConvertible, CustomReflectable {
  /// The format alone.
  public var description: String { "a client assertion of the type \(type)" }

  /// Has no children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
