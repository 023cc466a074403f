import MartletSemantics
import Testing

/// `Content-Digest`, `Repr-Digest` and the fields that ask for them (RFC 9530).
@Suite(.timeLimit(.minutes(5)))
struct IntegrityDigestTests {
  private static let short = Data(repeating: 1, count: 32)
  private static let long = Data(repeating: 2, count: 64)
  private static let sha256 = "sha-256=:\(short.base64EncodedString()):"
  private static let sha512 = "sha-512=:\(long.base64EncodedString()):"

  private static func fields(_ name: FieldName, _ values: [String]) -> HTTPFields {
    var fields = HTTPFields()
    for value in values { fields.append(value, for: name) }
    return fields
  }

  // §2, §3: a dictionary of byte sequences; a recipient may ignore any or all digests.
  @Test(
    arguments: [
      ([sha256], [.sha256]), ([sha512], [.sha512]), (["\(sha256), \(sha512)"], [.sha256, .sha512]),
      ([sha512, sha256], [.sha256, .sha512]), (["\(sha256);q=1"], [.sha256]),
      // other algorithms, deprecated (§7.2) or not registered
      (["md5=:AAAA:, \(sha256)"], [.sha256]), (["unixsum=3, \(sha256)"], [.sha256]), (["SHA-256=:AAAA:"], []),
      (["x=\"a, sha-512=:b:\", \(sha256)"], [.sha256]),
      // of two members with one name, the last one counts (RFC 9651 §3.2)
      (["sha-256=:AAAA:, \(sha256)"], [.sha256]), (["\(sha256), sha-256=:AAAA:"], []),
      // a member of another type or length
      (["sha-256"], []), (["sha-256=abc"], []), (["sha-256=\"abc\""], []), (["sha-256=(1 2)"], []),
      (["sha-256=::"], []), (["\(sha256), sha-512=:AAAA:"], []),
      // malformed (RFC 9651 §4.2)
      ([], []), ([""], []), (["sha-256=:abc"], []), (["\(sha256)x"], []), (["\(sha256),"], []),
    ] as [([String], [IntegrityDigest.Algorithm])])
  func onlyWellFormedDigestsOfKnownAlgorithmsCount(values: [String], algorithms: [IntegrityDigest.Algorithm]) {
    let digests = Self.fields("Repr-Digest", values).digests(of: .reprDigest)
    #expect(digests.map(\.algorithm) == algorithms)
    #expect(digests.allSatisfy { $0.bytes == ($0.algorithm == .sha256 ? Self.short : Self.long) })
  }

  @Test func theFormOfTheFieldIsReadAgain() {
    let digests = [IntegrityDigest(.sha256, Self.short), IntegrityDigest(.sha512, Self.long)]
    var fields = HTTPFields()
    fields.setDigests(digests, for: .contentDigest)
    #expect(fields[.contentDigest] == "\(Self.sha256), \(Self.sha512)")
    #expect(fields.digests(of: .contentDigest) == digests)
    fields.setDigests([], for: .contentDigest)
    #expect(!fields.contains(.contentDigest))
  }

  // §4: an integer from 0 to 10; 0 means "not acceptable".
  @Test(
    arguments: [
      ("sha-256=1", [.sha256]), ("sha-512=3, sha-256=10, unixsum=0", [.sha256, .sha512]),
      ("sha-512=5, sha-256=5", [.sha512, .sha256]), ("sha-256=5, sha-512=5", [.sha512, .sha256]),
      ("sha-256=0, sha-512=1", [.sha512]), ("sha-256=0", []), ("md5=10", []), ("sha-256=1;a=b", [.sha256]),
      ("sha-256=11", []), ("sha-256=-1", []), ("sha-256=1.0", []), ("sha-256", []), ("sha-256=?1, sha-512=1", []),
      ("unixsum=11, sha-512=1", []), ("sha-256=1,", []), ("", []),
    ] as [(String, [IntegrityDigest.Algorithm])])
  func theMostWantedAlgorithmIsFirst(value: String, expected: [IntegrityDigest.Algorithm]) {
    #expect(Self.fields("Want-Repr-Digest", [value]).wantedDigests(.wantReprDigest) == expected)
  }

  @Test func wishesAreReadAgain() {
    var fields = HTTPFields()
    for order in [[.sha256, .sha512], [.sha512, .sha256], [.sha512]] as [[IntegrityDigest.Algorithm]] {
      fields.wantDigests(order, .wantContentDigest)
      #expect(fields.wantedDigests(.wantContentDigest) == order)
    }
    #expect(fields[.wantContentDigest] == "sha-512=10")
    fields.wantDigests([], .wantContentDigest)
    #expect(!fields.contains(.wantContentDigest))
  }

  /// The digests of `content` are `right`, those of anything else `wrong`.
  private enum Fact: Sendable { case right, wrong, unchecked }

  private static let right = "sha-256=:\(short.base64EncodedString()):"
  private static let wrong = "sha-256=:\(Data(repeating: 3, count: 32).base64EncodedString()):"

  @Test(
    arguments: [
      // §2: the digest of the content, whatever the status and the method
      (200, .get, ["Content-Digest": right], [:], .right), (200, .get, ["Content-Digest": wrong], [:], .wrong),
      (206, .get, ["Content-Digest": wrong], [:], .wrong), (404, .post, ["Content-Digest": wrong], [:], .wrong),
      // §3: the digest of the representation, which a part is not
      (200, .get, ["Repr-Digest": right], [:], .right), (200, .get, ["Repr-Digest": wrong], [:], .wrong),
      (404, .get, ["Repr-Digest": wrong], [:], .wrong), (206, .get, ["Repr-Digest": wrong], [:], .unchecked),
      // §3.1: it may be that of the referenced resource, which is not enclosed
      (200, .patch, ["Repr-Digest": wrong], [:], .unchecked), (201, .post, ["Repr-Digest": wrong], [:], .unchecked),
      // each field counts
      (200, .get, ["Content-Digest": right, "Repr-Digest": wrong], [:], .wrong),
      (200, .get, ["Content-Digest": right, "Repr-Digest": right], [:], .right),
      (200, .get, ["Content-Digest": "md5=:AAAA:", "Repr-Digest": right], [:], .right),
      // §6.6: of several digests the strongest counts, which a weaker one does not replace
      (200, .get, ["Content-Digest": "\(wrong), \(sha512)"], [:], .right),
      (200, .get, ["Content-Digest": "\(right), sha-512=:\(Data(count: 64).base64EncodedString()):"], [:], .wrong),
      // §6.4: trailers
      (200, .get, ["Trailer": "Content-Digest"], ["Content-Digest": wrong], .wrong),
      (200, .get, ["Trailer": "X-A, content-digest"], ["Content-Digest": right], .right),
      (200, .get, ["Trailer": "Repr-Digest"], ["Repr-Digest": wrong], .wrong),
      (206, .get, ["Trailer": "Repr-Digest"], ["Repr-Digest": wrong], .unchecked),
      (200, .get, ["Trailer": "Content-Digest"], [:], .right),  // intermediaries may drop them
      (200, .get, ["Trailer": "Content-Digest", "Content-Digest": right], ["Content-Digest": wrong], .wrong),
      (200, .get, [:], ["Content-Digest": wrong], .unchecked),
      // nothing to check
      (200, .get, [:], [:], .unchecked), (200, .get, ["Content-Digest": "unixsum=1"], [:], .unchecked),
      (200, .get, ["Digest": "SHA-256=AAAA"], [:], .unchecked),
    ] as [(Int, HTTPMethod, HTTPFields, HTTPFields, Fact)])
  private func aContentMustHaveItsDigests(
    status: Int, method: HTTPMethod, head: HTTPFields, trailers: HTTPFields, expected: Fact
  ) throws {
    let rule = IntegrityRule(ResponseHead(status: HTTPStatus(status), fields: head), answering: method)
    guard expected != .unchecked else { return #expect(rule == nil) }
    let checked = try #require(rule)
    let actual = [IntegrityDigest(.sha256, Self.short), IntegrityDigest(.sha512, Self.long)]
      .filter { checked.algorithms.contains($0.algorithm) }
    #expect((checked.problem(actual, trailers: trailers) == nil) == (expected == .right))
  }

  @Test func theProblemNamesTheFieldAndBothDigests() throws {
    let head = ResponseHead(status: .ok, fields: ["Content-Digest": Self.wrong])
    let rule = try #require(IntegrityRule(head, answering: .get))
    let problem = try #require(rule.problem([IntegrityDigest(.sha256, Self.short)], trailers: [:]))
    #expect(problem.contains("digest \(Self.right) instead of \(Self.wrong) of its Content-Digest"))
  }
}
