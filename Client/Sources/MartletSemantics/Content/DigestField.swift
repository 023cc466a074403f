/// A digest of a representation, as in `Repr-Digest` and `Content-Digest` (RFC 9530 §2, §3).
@_spi(Toolkit) public struct RepresentationDigest: Sendable, Hashable {
  /// The reliable algorithms; the others of the registry are deprecated (§5).
  public enum Algorithm: String, Sendable, CaseIterable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    package var byteCount: Int { self == .sha256 ? 32 : 64 }
  }

  package let algorithm: Algorithm
  package let bytes: Data

  package init(_ algorithm: Algorithm, _ bytes: Data) { (self.algorithm, self.bytes) = (algorithm, bytes) }

  /// The form of the fields: `sha-256=:…:`.
  package var text: String { "\(algorithm.rawValue)=:\(bytes.base64EncodedString()):" }

  /// The form of `sha256sum` and `sha512sum`.
  package var hexadecimal: String { bytes.hexadecimal }

  /// Returns the strongest digest of a field, a dictionary of byte sequences (RFC 9651 §3.2); nil if there is none.
  ///
  /// Other algorithms do not count. A field with a malformed digest is ignored as a whole (RFC 9651 §4.2).
  package static func strongest(of name: FieldName, in fields: HTTPFields) -> RepresentationDigest? {
    var digests: [Algorithm: Data] = [:]
    for member in FieldList.elements(of: Substring(fields[values: name].joined(separator: ", "))) {
      let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let algorithm = Algorithm(rawValue: String(parts[0])) else { continue }
      guard parts.count == 2, let bytes = byteSequence(parts[1]), bytes.count == algorithm.byteCount else { return nil }
      digests[algorithm] = bytes  // Of two members with the same name, the last one counts.
    }
    if let bytes = digests[.sha512] { return RepresentationDigest(.sha512, bytes) }
    return digests[.sha256].map { RepresentationDigest(.sha256, $0) }
  }

  /// Decodes `:…:`, ignoring parameters after it (RFC 9651 §4.2.7).
  private static func byteSequence(_ text: Substring) -> Data? {
    guard text.first == ":", let end = text.dropFirst().firstIndex(of: ":") else { return nil }
    let rest = text[text.index(after: end)...]
    guard rest.isEmpty || rest.first == ";" else { return nil }
    return Data(base64Encoded: String(text[text.index(after: text.startIndex)..<end]))
  }
}
