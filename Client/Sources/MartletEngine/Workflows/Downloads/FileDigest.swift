@_spi(Toolkit) public import MartletSemantics

/// The digest that a downloaded file must have (RFC 9530).
///
/// ```swift
/// let response = try await session.download(for: request, to: file, verifying: .sent)
/// ```
public struct FileDigest: Sendable, Hashable {
  /// The expected digest; nil for the server's.
  let given: IntegrityDigest?

  /// The digest that the server sends: `Repr-Digest`, or else `Content-Digest` of a response with the whole file; of
  /// several, the strongest, which may be SHA-512 or SHA-256. The request asks for it with `Want-Repr-Digest`, and the
  /// cache does not answer it. If the server sends none, that is an error. It detects damage, but not an attacker who
  /// can change the response.
  public static let sent = FileDigest(given: nil)

  /// The SHA-256 of the file, 32 bytes: one that was published elsewhere.
  public static func sha256(_ bytes: Data) -> FileDigest { FileDigest(given: .init(.sha256, bytes)) }

  /// The SHA-512 of the file, 64 bytes.
  public static func sha512(_ bytes: Data) -> FileDigest { FileDigest(given: .init(.sha512, bytes)) }

  /// Parses a digest in hexadecimal: the digits that `sha256sum` and `sha512sum` print before the file's name. nil for
  /// any text other than 64 or 128 hexadecimal digits.
  public init?(hexadecimal text: String) {
    var (bytes, rest) = (Data(), Array(text.utf8)[...])
    while let byte = PercentEncoding.hexadecimalPair(in: rest) {
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    guard rest.isEmpty,
      let algorithm = IntegrityDigest.Algorithm.allCases.first(where: { $0.byteCount == bytes.count })
    else { return nil }
    given = .init(algorithm, bytes)
  }

  private init(given: IntegrityDigest?) { self.given = given }

  /// Returns the digest that a response names for the whole representation; nil if it names none that can be checked.
  /// If a coding was decoded, the digest is that of other bytes.
  static func named(by response: HTTPResponse) -> IntegrityDigest? {
    guard let received = response.networkHead, received.status == response.status,
      received.fields[.contentEncoding] == response.fields[.contentEncoding]
    else { return nil }
    if let digest = received.fields.digests(of: .reprDigest).last { return digest }
    guard received.status == .ok else { return nil }  // The content of a 206 is a part.
    return received.fields.digests(of: .contentDigest).last
  }
}

extension PartialFile {
  /// Throws unless the file has a digest.
  ///
  /// - Parameter isGiven: whether the caller has given the digest. The error then shows digests in hexadecimal, like
  ///   `sha256sum`; otherwise in the notation of the field that the server sent.
  func check(_ digest: IntegrityDigest, isGiven: Bool) throws(HTTPError) {
    let hash = try IncrementalDigest.make(digest.algorithm)
    try read { hash.update($0) }
    let actual = IntegrityDigest(digest.algorithm, hash.value())
    guard actual == digest else {
      let (found, expected) = isGiven ? (actual.hexadecimal, digest.hexadecimal) : (actual.text, digest.text)
      throw HTTPError(.digestMismatch, "the file has the digest \(found) instead of \(expected)", phase: .receiving)
    }
  }
}
