/// A digest of the content or of the representation of a message, which `Content-Digest` and `Repr-Digest` contain
/// (RFC 9530 §2, §3).
///
/// ```swift
/// let fields: HTTPFields = ["Content-Digest": "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"]
/// fields.digests(of: .contentDigest).first?.algorithm   // .sha256
/// ```
///
/// A digest detects damage. It does not prove who sent the bytes: an attacker who can change them can change the field,
/// too, unless a signature covers it (RFC 9421).
public struct IntegrityDigest: Sendable, Hashable {
  /// The active algorithms of the registry, the stronger one last (§7.2). The deprecated ones, such as `md5` and
  /// `unixsum`, are neither sent nor checked.
  @nonexhaustive public enum Algorithm: String, Sendable, Hashable, CaseIterable {
    /// SHA-256, 32 bytes.
    case sha256 = "sha-256"
    /// SHA-512, 64 bytes.
    case sha512 = "sha-512"

    package var byteCount: Int { self == .sha256 ? 32 : 64 }
  }

  /// The algorithm.
  public let algorithm: Algorithm
  /// The result of the algorithm.
  public let bytes: Data

  /// Makes a digest of bytes that were computed elsewhere. One whose length is not that of its algorithm never matches.
  public init(_ algorithm: Algorithm, _ bytes: Data) { (self.algorithm, self.bytes) = (algorithm, bytes) }

  /// The form of the fields: `sha-256=:…:`.
  package var text: String { "\(algorithm.rawValue)=:\(bytes.base64EncodedString()):" }

  /// The form of `sha256sum` and `sha512sum`.
  package var hexadecimal: String { bytes.hexadecimal }
}

extension HTTPFields {
  /// Returns the digests of an integrity field, a dictionary of byte sequences (RFC 9530 §2, §3); the stronger one
  /// last.
  ///
  /// Other algorithms are left out. A field that does not follow the grammar is ignored as a whole (RFC 9651 §4.2), and
  /// so is one whose digest has another type or another length than its algorithm's.
  ///
  /// - Parameter name: `Content-Digest` or `Repr-Digest`.
  public func digests(of name: FieldName) -> [IntegrityDigest] {
    guard let members = try? structured(name, as: StructuredField.Dictionary.self) else { return [] }
    var digests: [IntegrityDigest] = []
    for algorithm in IntegrityDigest.Algorithm.allCases {
      guard let member = members[algorithm.rawValue] else { continue }
      guard case .bytes(let bytes)? = member.item?.value, bytes.count == algorithm.byteCount else { return [] }
      digests.append(IntegrityDigest(algorithm, bytes))
    }
    return digests
  }

  /// Sets an integrity field to these digests; removes it if there are none.
  ///
  /// - Parameter name: `Content-Digest` or `Repr-Digest`.
  public mutating func setDigests(_ digests: [IntegrityDigest], for name: FieldName) {
    self[name] = digests.isEmpty ? nil : digests.map(\.text).joined(separator: ", ")
  }

  /// Returns the algorithms that the sender of an integrity preference field wants, the most wanted first (RFC 9530
  /// §4). Of two with the same weight, the stronger one is first; one with the weight 0 is not acceptable.
  ///
  /// The field is a hint. One that does not follow the grammar, or has a weight outside 0 to 10, is ignored as a whole.
  ///
  /// - Parameter name: `Want-Content-Digest` or `Want-Repr-Digest`.
  public func wantedDigests(_ name: FieldName) -> [IntegrityDigest.Algorithm] {
    guard let members = try? structured(name, as: StructuredField.Dictionary.self) else { return [] }
    var weights: [IntegrityDigest.Algorithm: Int64] = [:]
    for (key, member) in members {
      guard case .integer(let weight)? = member.item?.value, (0...10).contains(weight) else { return [] }
      if weight > 0, let algorithm = IntegrityDigest.Algorithm(rawValue: key) { weights[algorithm] = weight }
    }
    // The sort is stable, so of equal weights the stronger algorithm stays first.
    return IntegrityDigest.Algorithm.allCases.reversed().filter { weights[$0] != nil }
      .sorted { weights[$0, default: 0] > weights[$1, default: 0] }
  }

  /// Sets an integrity preference field (RFC 9530 §4): asks the peer for digests with these algorithms, the most wanted
  /// first.
  ///
  /// - Parameter name: `Want-Content-Digest` or `Want-Repr-Digest`.
  public mutating func wantDigests(_ algorithms: [IntegrityDigest.Algorithm], _ name: FieldName) {
    let members = algorithms.enumerated().map { "\($1.rawValue)=\(Swift.max(1, 10 - 5 * $0))" }
    self[name] = members.isEmpty ? nil : members.joined(separator: ", ")
  }
}

/// The digests that the content of a message must have, from its fields.
///
/// `Content-Digest` is that of the content. `Repr-Digest` is that of the whole representation, which is the content
/// only in a response to GET that is not a part: that to PATCH, for example, may be about the patched resource (RFC
/// 9530 §3.1). Both are computed before any content coding is decoded (§1.2).
package struct IntegrityRule: Sendable {
  /// The digests in the head.
  private let digests: [(name: FieldName, digest: IntegrityDigest)]
  /// The fields that the trailer section may have.
  private let trailers: [FieldName]

  /// Returns nil if nothing can be checked.
  package init?(_ head: ResponseHead, answering method: HTTPMethod) {
    let isWhole = method == .get && head.status != .partialContent
    let names: [FieldName] = isWhole ? [.contentDigest, .reprDigest] : [.contentDigest]
    digests = names.compactMap { name in head.fields.digests(of: name).last.map { (name, $0) } }
    let announced = head.fields.list(.trailer)
    trailers = names.filter { name in announced.contains { ASCII.equalIgnoringCase($0, name.rawName) } }
    if digests.isEmpty, trailers.isEmpty { return nil }
  }

  /// The algorithms that the check needs: all of them if the digests follow the content.
  package var algorithms: [IntegrityDigest.Algorithm] {
    IntegrityDigest.Algorithm.allCases.filter { algorithm in
      !trailers.isEmpty || digests.contains { $0.digest.algorithm == algorithm }
    }
  }

  /// Whether the digests follow the content, so that its last byte does not end the check.
  package var needsTrailers: Bool { !trailers.isEmpty }

  /// Returns the problem with a content, as a sentence; nil if it has all digests.
  package func problem(_ actual: [IntegrityDigest], trailers fields: HTTPFields) -> String? {
    let later = trailers.compactMap { name in fields.digests(of: name).last.map { (name: name, digest: $0) } }
    for (name, expected) in digests + later where !actual.contains(expected) {
      let found = actual.first { $0.algorithm == expected.algorithm }?.text ?? "no such digest"
      return
        "the response's body has the digest \(found) instead of \(expected.text) of its \(name): it was changed or "
        + "damaged on its way; send the request again, and do not use the bytes"
    }
    return nil
  }
}
