import MartletSemantics
public import MartletSignIn

extension OAuthClient.Authentication {
  /// With a JSON Web Token that the client signs (`private_key_jwt`, RFC 7523 §2.2), or for which it has a secret
  /// (`client_secret_jwt`).
  ///
  /// ```swift
  /// let key = try SignatureKey(pem: text, id: "2026-1")
  /// let client = OAuthClient(
  ///   id: "reports", tokenEndpoint: server.tokenEndpoint,
  ///   authentication: .privateKeyJWT(key, audience: server.issuer), session: session)
  /// ```
  ///
  /// The token has `iss` and `sub` (the client), `aud`, `iat`, `exp` and a `jti` of its own for each request, and the
  /// key's ``SignatureKey/id`` as `kid`.
  ///
  /// - Parameters:
  ///   - key: the private key whose public one the server knows, or the secret.
  ///   - audience: the identifier of the server, which RFC 9126 §2 recommends; nil, the default, for the URL of the
  ///     endpoint, which older servers need.
  ///   - lifetime: how long the token is valid; a minute by default.
  public static func privateKeyJWT(
    _ key: SignatureKey, audience: String? = nil, lifetime: Duration = .seconds(60)
  ) -> OAuthClient.Authentication {
    privateKeyJWT(key, audience: audience, lifetime: lifetime, now: { .now })
  }

  static func privateKeyJWT(
    _ key: SignatureKey, audience: String?, lifetime: Duration, now: @escaping @Sendable () -> Date
  ) -> OAuthClient.Authentication {
    .assertion(
      ClientAssertion { client, endpoint in
        let issued = SignedToken.seconds(now())
        let header = AssertionHeader(alg: key.algorithm.joseName, kid: key.id)
        let claims = AssertionClaims(
          aud: audience ?? endpoint.absoluteString, exp: issued + Int(lifetime.components.seconds), iat: issued,
          iss: client, jti: SignedToken.identifier(), sub: client)
        return try SignedToken.text(SignedToken.json(header), SignedToken.json(claims), by: key)
      })
  }
}

private struct AssertionHeader: Encodable {
  var alg: String
  var kid: String?
  var typ = "JWT"
}

/// The claims of RFC 7523 §3.
private struct AssertionClaims: Encodable {
  var aud: String
  var exp: Int
  var iat: Int
  var iss: String
  var jti: String
  var sub: String
}
