/// What a server says about an answer that it accepted: `Authentication-Info` (RFC 9110 §11.6.3, RFC 7616 §3.5).
package struct AuthenticationInfo: Sendable, Hashable {
  private var parameters = FieldParameters()

  /// Reads the field of a response; nil if there is none.
  package init?(_ fields: HTTPFields) {
    guard fields.contains(.authenticationInfo) else { return nil }
    for element in fields.list(.authenticationInfo) {
      guard let (name, value) = FieldParameters.pair(in: element[...]), let value else { continue }
      if parameters[name] == nil { parameters[name] = value }
    }
  }

  /// The nonce to use from now on.
  package var nextNonce: String? { parameters["nextnonce"].flatMap { $0.isEmpty ? nil : $0 } }
  /// The proof that the server knows the password.
  package var responseProof: String? { parameters["rspauth"] }

  var quality: String? { parameters["qop"] }
  var clientNonce: String? { parameters["cnonce"] }
  var count: String? { parameters["nc"] }
}
