@_spi(Toolkit) public import MartletSemantics
import Synchronization

extension IntegrityDigest {
  /// Computes the digest of bytes in memory, for example of the body of a message that a program checks itself.
  ///
  /// - Throws: ``HTTPError`` of kind `.other` if the system's cryptographic library does not offer the algorithm.
  public init(_ algorithm: Algorithm, of data: Data) throws(HTTPError) {
    let hash = try IncrementalDigest.make(algorithm)
    data.withUnsafeBytes { hash.update($0) }
    self.init(algorithm, hash.value())
  }
}

extension IncrementalDigest {
  /// Makes a hash.
  ///
  /// - Throws: ``HTTPError`` if the library does not offer the algorithm.
  static func make(_ algorithm: IntegrityDigest.Algorithm) throws(HTTPError) -> IncrementalDigest {
    guard let hash = IncrementalDigest(algorithm) else {
      throw HTTPError(.other, "the system's cryptographic library does not offer \(algorithm.rawValue)")
    }
    return hash
  }
}

/// Hashes of the same bytes with several algorithms.
struct BodyHash {
  private let hashes: [(algorithm: IntegrityDigest.Algorithm, hash: IncrementalDigest)]

  init(_ algorithms: some Sequence<IntegrityDigest.Algorithm>) throws(HTTPError) {
    var hashes: [(algorithm: IntegrityDigest.Algorithm, hash: IncrementalDigest)] = []
    for algorithm in Set(algorithms) { hashes.append((algorithm, try .make(algorithm))) }
    self.hashes = hashes
  }

  func update(_ bytes: UnsafeRawBufferPointer) { for (_, hash) in hashes { hash.update(bytes) } }

  func update(_ data: Data) { data.withUnsafeBytes { update($0) } }

  /// The digests of all bytes; called once.
  func digests() -> [IntegrityDigest] { hashes.map { IntegrityDigest($0.algorithm, $0.hash.value()) } }
}

/// The integrity fields of a request's body, with their algorithms.
struct BodyDigests: Sendable {
  private let members: [(name: FieldName, algorithm: IntegrityDigest.Algorithm)]

  /// Returns nil if the request needs none: it has no body, no option asks for a digest, or it has the field.
  init?(of request: HTTPRequest) {
    guard request.hasBody else { return nil }
    let wanted: [(FieldName, IntegrityDigest.Algorithm?)] = [
      (.contentDigest, request.options.contentDigest), (.reprDigest, request.options.reprDigest),
    ]
    members = wanted.compactMap { name, algorithm in
      guard let algorithm, !request.fields.contains(name) else { return nil }
      return (name, algorithm)
    }
    if members.isEmpty { return nil }
  }

  var names: [FieldName] { members.map(\.name) }

  func hash() throws(HTTPError) -> BodyHash { try BodyHash(members.map(\.algorithm)) }

  func fields(_ digests: [IntegrityDigest]) -> HTTPFields {
    var fields = HTTPFields()
    for (name, algorithm) in members { fields.setDigests(digests.filter { $0.algorithm == algorithm }, for: name) }
    return fields
  }
}

extension RequestBody {
  /// Returns the body with its digests: in its fields if all bytes can be read now, from memory or from a file, and
  /// otherwise in the trailer section, because a stream may be readable only once.
  func digested(_ digests: BodyDigests) async throws -> RequestBody {
    var body = self
    switch storage {
    case .data(let data):
      let hash = try digests.hash()
      hash.update(data)
      body.fields.setAll(digests.fields(hash.digests()))
    case .file:
      let hash = try digests.hash()
      let source = try await open().source
      while let chunk = try await source.next() { hash.update(chunk) }
      body.fields.setAll(digests.fields(hash.digests()))
    case .made:
      let open: @Sendable () async throws -> OpenBody = {
        let opened = try await self.open()
        return OpenBody(source: try DigestedSource(opened.source, digests), length: opened.length)
      }
      for name in digests.names { body.fields.append(name.rawName, for: .trailer) }
      return RequestBody(
        .made(open), length: length, fields: body.fields, hasTrailers: true, singleUses: singleUses,
        estimate: { self.estimatedLength })
    }
    return body
  }
}

extension HTTPFields {
  /// Removes the digests of a body that gets a content coding: they are those of other bytes (RFC 9530 §1.2).
  mutating func removeDigests() {
    for name in [FieldName.contentDigest, .reprDigest] {
      remove(name)
      let rest = list(.trailer).filter { !ASCII.equalIgnoringCase($0, name.rawName) }
      if contains(.trailer) { self[.trailer] = rest.isEmpty ? nil : rest.joined(separator: ", ") }
    }
  }

  fileprivate mutating func setAll(_ fields: HTTPFields) { for (name, value) in fields { self[name] = value } }
}

/// A source that is followed by the digests of its bytes.
private final class DigestedSource: BodyLayer {
  let base: any BodySource
  private let digests: BodyDigests
  private let hash: Mutex<BodyHash?>
  private let fields = Mutex<HTTPFields>([:])

  init(_ base: any BodySource, _ digests: BodyDigests) throws(HTTPError) {
    self.base = base
    self.digests = digests
    hash = Mutex(try digests.hash())
  }

  func next() async throws -> Data? {
    let chunk = try await base.next()
    let made = hash.withLock { hash -> [IntegrityDigest]? in
      if let chunk { hash?.update(chunk) }
      return chunk == nil ? hash.take()?.digests() : nil
    }
    if let made { fields.withLock { $0 = digests.fields(made) } }
    return chunk
  }

  /// False until the digests are made: a transport must ask for the end.
  var hasNoRest: Bool { hash.withLock { $0 == nil } && base.isKnownToHaveNoRest }

  var trailers: HTTPFields {
    var trailers = base.trailers
    trailers.setAll(fields.withLock { $0 })
    return trailers
  }
}

/// The body of a response whose digests are checked when it ends (RFC 9530).
final class CheckedBody: BodyLayer {
  let base: any BodySource
  private let rule: IntegrityRule
  private let length: Int64?
  private let state: Mutex<State>

  private struct State {
    var hash: BodyHash?
    var count: Int64 = 0
  }

  /// - Parameter length: the number of bytes; nil if it is not known.
  init(_ base: any BodySource, _ rule: IntegrityRule, length: Int64?) throws(HTTPError) {
    self.base = base
    self.rule = rule
    self.length = length
    state = Mutex(State(hash: try BodyHash(rule.algorithms)))
  }

  func next() async throws -> Data? {
    let chunk = try await base.next()
    try take(chunk, isLast: chunk == nil)
    return chunk
  }

  func takeReceived() throws(HTTPError) -> Data? {
    guard let data = try base.takeReceived() else { return nil }
    try take(data, isLast: true)
    return data
  }

  /// Whether it is checked, too: the check must not be skipped because a reader need not ask for the end.
  var hasNoRest: Bool { state.withLock { $0.hash == nil } && base.isKnownToHaveNoRest }

  /// Adds bytes. After the last ones it throws unless they have the digests. With a known length that is at the last
  /// byte, which a reader then does not get.
  func take(_ bytes: Data?, isLast: Bool) throws(HTTPError) {
    let actual = state.withLock { state -> [IntegrityDigest]? in
      if let bytes {
        state.hash?.update(bytes)
        state.count += Int64(bytes.count)
      }
      guard isLast || state.count == length && !rule.needsTrailers else { return nil }
      return state.hash.take()?.digests()
    }
    guard let actual, let problem = rule.problem(actual, trailers: base.trailers) else { return }
    base.cancel()
    throw HTTPError(.digestMismatch, problem, phase: .receiving)
  }
}

extension HTTPResponse {
  /// Returns the response with a body whose digests are checked, if the request asks for that, and the response has
  /// digests of bytes that were not decoded yet.
  package func checkingDigests(for request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
    guard request.options.checksDigests, !isUpgraded, !(body.source is CheckedBody), let received = networkHead,
      BodyFraming.hasBody(status: received.status.code, answering: request.method),
      received.fields[.contentEncoding] == fields[.contentEncoding],
      let rule = IntegrityRule(received, answering: request.method)
    else { return self }
    let checked = try CheckedBody(body.source, rule, length: body.length)
    var response = self
    response.body = ResponseBody(length: body.length, from: checked)
    if body.length == 0 { try checked.take(nil, isLast: true) }
    return response
  }
}

extension HTTPRequest {
  /// Returns the request with what its options say about digests: the fields that ask for some, and those of its body.
  func addingIntegrityFields() async throws -> HTTPRequest {
    var request = self
    if options.checksDigests {
      for name in [FieldName.wantContentDigest, .wantReprDigest] where !fields.contains(name) {
        request.fields.wantDigests([.sha256, .sha512], name)
      }
    }
    if let digests = BodyDigests(of: request) { request.body = try await body.digested(digests) }
    return request
  }
}
