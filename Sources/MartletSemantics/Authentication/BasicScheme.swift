/// The Basic scheme (RFC 7617): user name and password in the clear. It is as secret as the connection is.
package enum BasicScheme {
  /// The value of `Authorization`.
  ///
  /// The text is UTF-8, whether or not the challenge says so: `charset="UTF-8"` is the only one that can be announced
  /// (§2.1), and without an announcement it is what servers and browsers came to agree on.
  ///
  /// - Throws: ``CredentialError`` where the user's name has a colon, which would end it, or where there is a control
  ///   character (§2).
  package static func authorization(for credential: Credential) throws(CredentialError) -> String {
    guard !credential.user.utf8.contains(UInt8(ascii: ":")) else {
      throw CredentialError("the user's name holds a colon, which Basic cannot carry (RFC 7617 §2): use another name")
    }
    guard !(credential.user + credential.password).utf8.contains(where: ASCII.isControl) else {
      throw CredentialError(
        "the user's name or the password holds a control character, which Basic cannot carry (RFC 7617 §2)")
    }
    return "Basic " + Data("\(credential.user):\(credential.password)".utf8).base64EncodedString()
  }

  /// Where the credential that was accepted for a URL can be sent unasked: at all paths that begin like this (§2.2).
  package static func protectedPath(of url: URL) -> String {
    let path = url.path(percentEncoded: true)
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "/" }
    return String(path[...slash])
  }
}
