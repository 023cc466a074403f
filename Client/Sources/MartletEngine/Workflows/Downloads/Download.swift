@_spi(Toolkit) public import MartletSemantics

extension HTTPSession {
  /// Sends the request and writes a successful response's body to a file, which appears only when it is complete. Runs
  /// off the caller's actor.
  ///
  /// The bytes are written to a hidden file in the same folder, which replaces the destination at the end and is
  /// removed if the download fails:
  /// - A replaced file passes on its permissions, and its owner, group and extended attributes as far as the process
  ///   may set them.
  /// - If the destination is a symbolic link, it stays, and the file that it leads to is written.
  /// - A file with several names (hard links) is overwritten at the end, so that all of them show the new content; if
  ///   the process may not write to it, it is replaced, and the other names keep the old content. A mount point is
  ///   overwritten, too. During that moment other programs may read an incomplete file.
  /// - A device or a named pipe is never replaced: it gets the bytes as they arrive. A pipe's reader is waited for.
  ///
  /// After a lost connection the download is resumed up to ``RequestOptions/downloadResumptions`` times. A final
  /// refusal meanwhile, such as 403 or 404, is an error of kind `.unexpectedResponse`. The response is not stored in
  /// the cache, unless ``RequestOptions/storesDownloads`` is set.
  ///
  /// `Accept-Encoding: identity` is sent unless the request has the field, and no content coding is decoded: the file
  /// has the bytes that the server has, so that an archive that is labelled with a coding stays one.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - destination: the URL of the file.
  ///   - expecting: the statuses that are no error; by default ``RequestOptions/expecting``, or 2xx if that is nil. A
  ///     response with another status than 2xx is returned with its body unread, and the destination is not changed.
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected, and of kind `.file` if the
  ///   destination cannot be written.
  @concurrent public func download(
    for request: HTTPRequest, to destination: URL, expecting: StatusExpectation? = nil
  ) async throws(HTTPError) -> HTTPResponse {
    var download = try Download(request.expecting(expecting), of: self, to: .init(destination), keeping: .nothing)
    return try await download.run()
  }

  /// Downloads like ``download(for:to:expecting:)``, but the file appears only if it has the given digest. Runs off the
  /// caller's actor.
  ///
  /// To check it, the whole file is read again, including a part from an earlier run. A device or a pipe is refused.
  ///
  /// - Throws: ``HTTPError``, of kind `.digestMismatch` if the file has another digest, or the server sends none.
  ///   Nothing of the file is then kept.
  @concurrent public func download(
    for request: HTTPRequest, to destination: URL, verifying digest: FileDigest
  ) async throws(HTTPError) -> HTTPResponse {
    var download = try Download(
      request, of: self, to: .init(destination), keeping: .nothing, verifying: digest)
    return try await download.run()
  }

  /// Downloads like ``download(for:to:expecting:)``, but keeps the bytes if it fails or is cancelled. The error's
  /// ``HTTPError/resumption`` resumes the download. Runs off the caller's actor.
  ///
  /// ```swift
  /// do {
  ///   _ = try await session.resumableDownload(for: request, to: file)
  /// } catch {
  ///   guard let resumption = error.resumption else { throw error }
  ///   _ = try await session.resumableDownload(for: request, to: file, resuming: resumption)
  /// }
  /// ```
  ///
  /// The rest is requested with `Range` and `If-Range` (RFC 9110 §13.1.5, §14.2). If the resource or the kept file has
  /// changed, or the server does not support ranges, the download starts again, so that the file never mixes two
  /// versions. Resuming needs a strong validator: a strong `ETag`, or else a `Last-Modified` of at least a second
  /// before the response's `Date`. Only a GET without a `Range` can be resumed; any other request is downloaded like
  /// ``download(for:to:expecting:)``, and so is a download to a device or a pipe.
  ///
  /// - Parameters:
  ///   - request: the request; when resuming, the same request with valid credentials.
  ///   - destination: the file; the kept bytes are in the same folder.
  ///   - resumption: the resumption of an earlier download to the same destination. It is used if it is for the same
  ///     URL, and its file is in the destination's folder and has the name of one of its partial files. The file must
  ///     also be the same regular file with the same size. Otherwise the file is not touched, and the download starts
  ///     again.
  /// - Returns: the response with the file or its rest: 200 or 206. Other statuses are handled like in
  ///   ``download(for:to:expecting:)``; the error has the resumption, because kept bytes are not removed.
  @concurrent public func resumableDownload(
    for request: HTTPRequest, to destination: URL, resuming resumption: DownloadResumption? = nil
  ) async throws(HTTPError) -> HTTPResponse {
    try await resumableDownload(for: request, to: DownloadDestination(destination), resuming: resumption)
  }

  /// Downloads like ``resumableDownload(for:to:resuming:)``, but the file appears only if it has the given digest; see
  /// ``download(for:to:verifying:)``. Runs off the caller's actor.
  ///
  /// A run that resumes an earlier one needs `Repr-Digest` for ``FileDigest/sent``: the digest of the rest is not
  /// enough.
  @concurrent public func resumableDownload(
    for request: HTTPRequest, to destination: URL, resuming resumption: DownloadResumption? = nil,
    verifying digest: FileDigest
  ) async throws(HTTPError) -> HTTPResponse {
    var download = try Download(
      request, of: self, to: .init(destination), keeping: .bytes(after: resumption), verifying: digest)
    return try await download.run()
  }

  @_spi(Toolkit) public func resumableDownload(
    for request: HTTPRequest, to destination: DownloadDestination, resuming resumption: DownloadResumption?
  ) async throws(HTTPError) -> HTTPResponse {
    var download = try Download(request, of: self, to: destination, keeping: .bytes(after: resumption))
    return try await download.run()
  }
}

/// The destination of a download, and the properties of its file.
@_spi(Toolkit) public struct DownloadDestination: Sendable {
  package var url: URL
  /// The beginning of the names of partial files, including that of a resumption; nil for the beginning of the
  /// destination's name.
  package var label: String?
  package var access = PartialFile.Access.standard

  public init(_ url: URL, label: String? = nil, access: PartialFile.Access = .standard) {
    (self.url, self.label, self.access) = (url, label, access)
  }
}

/// A call of `download`: the file, and the requests that fill it. Each request continues where the last one failed if
/// the resource is still the same, and otherwise starts again; see `ResumeRule`.
struct Download {
  private let session: HTTPSession
  /// The request, with its options in the session.
  private let request: HTTPRequest
  private let file: DestinationFile
  private let expecting: StatusExpectation
  private let deadline: Deadline?
  /// The file that a failed download keeps; nil if it keeps none.
  private let kept: PartialFile?
  private var validator: String?
  private var size: Int64?
  private let digest: FileDigest?
  /// The digest of the whole file that the server has sent.
  private var sentDigest: IntegrityDigest?
  /// Whether the file consists of parts that several responses brought, so that no check of a body covers it.
  private var isJoined = false
  private var resumptionsLeft: Int
  private var rule = ReconnectRule(backoff: Backoff(base: .seconds(1), delayLimit: .seconds(30)))
  /// What an error is about: the last request, and the response to it.
  private var context: ErrorContext

  private typealias ErrorContext = (request: RequestHead, response: ResponseHead?, history: [AttemptRecord])

  /// What remains of a failed download.
  enum Remainder {
    case nothing
    /// The bytes, so that a later download continues. This one continues an earlier one, unless that is nil.
    case bytes(after: DownloadResumption?)
  }

  init(
    _ request: HTTPRequest, of session: HTTPSession, to destination: DownloadDestination, keeping remainder: Remainder,
    verifying digest: FileDigest? = nil
  ) throws(HTTPError) {
    var request = session.resolving(request)
    expecting = request.options.expecting ?? .successful
    request.options.expecting = .any  // Resuming may yield a 206 or 416.
    deadline = session.deadline(request.options)
    // Only the response to a GET without a range is a whole resource.
    let isWhole = request.method == .get && !request.fields.contains(.range)
    resumptionsLeft = isWhole ? request.options.downloadResumptions : 0
    self.session = session
    self.digest = digest
    if let digest, digest.given == nil {
      request.fields.wantDigests([.sha256, .sha512], .wantReprDigest)
      // A stored response is already decoded, but the digest is that of the coded bytes.
      request.options.cachePolicy = .reloadIgnoringCacheData
    }
    self.request = request
    context = (request.head, nil, [])
    if isWhole, case .bytes(let resumption?) = remainder, resumption.isDownload(of: request.url),
      let file = PartialFile(
        resuming: resumption, for: destination.url, label: destination.label, access: destination.access)
    {
      (self.file, kept) = (.partial(file), file)
      (validator, size) = (resumption.validator, resumption.size)
      return
    }
    do throws(HTTPError) {
      file = try DestinationFile(
        for: destination.url, label: destination.label, access: destination.access, phase: .preparing)
      if digest != nil, file.partial == nil { throw Self.unverifiable(destination.url) }
    } catch {
      throw error.addingContext(request: context.request, response: nil, history: [])
    }
    if isWhole, case .bytes = remainder { kept = file.partial } else { kept = nil }
  }

  private static func unverifiable(_ url: URL) -> HTTPError {
    HTTPError(
      .file, "'\(url.path)' cannot be read again to verify it: download to a regular file", phase: .preparing)
  }

  mutating func run() async throws(HTTPError) -> HTTPResponse {
    do throws(HTTPError) { return try await fetch() } catch {
      let error = error.addingContext(
        request: context.request, response: context.response, history: context.history)
      throw resumable(error)
    }
  }

  /// Sends requests until the file is complete.
  private mutating func fetch() async throws(HTTPError) -> HTTPResponse {
    var isResuming = false
    while true {
      let before = file.count
      do throws(HTTPError) {
        if let response = try await call() { return response }
      } catch {
        // A server that is overloaded while it resumes is no reason to give up; any other refusal is final.
        let isTemporary = error.isLoss || (isResuming && error.kind == .unexpectedResponse && error.isTransient)
        guard resumptionsLeft > 0, point != nil, isTemporary else { throw error }
        isResuming = true
        resumptionsLeft -= 1
        if file.count > before { rule.succeeded() } else { rule.failed() }
        do { try await wait() } catch let end {
          var ended = HTTPError(wrapping: end)
          ended.underlying = error  // why it waited
          throw ended
        }
      }
    }
  }

  /// Where the next request continues; nil to start at the beginning.
  private var point: ResumePoint? {
    guard let validator, file.count > 0 else { return nil }
    return ResumePoint(count: file.count, validator: validator, size: size)
  }

  /// Returns nil if the download has to start again.
  private mutating func call() async throws(HTTPError) -> HTTPResponse? {
    let point = point
    let part = part(from: point)
    context = (part.head, nil, [])
    var response = try await session.respond(
      to: part, limit: request.options.bodyLimit, until: deadline,
      Call.Use(storesResponse: request.options.storesDownloads))
    context = (response.request, response.head, response.history)
    switch decision(on: response, after: point) {
    case .append(let size):
      self.size = size
      isJoined = true
      sentDigest = FileDigest.named(by: response) ?? sentDigest
      response.body.ofSession?.follow(file.count)
    case .whole:
      guard expecting.accepts(response.status) else { throw await session.unexpected(response) }
      try begin(response)
    case .complete:
      response.body.endUnread()
      try await complete()
      response.status = .ok  // The caller did not request the range that the 416 refers to.
      response.body = .empty
      return response
    case .restart:
      response.body.endUnread()
      validator = nil
      try file.empty()
      return nil
    case .other:
      guard response.status != .partialContent else {
        response.body.cancel()
        throw HTTPError(.protocolViolation, "the server sent a part (206) that was not requested", phase: .waiting)
      }
      guard expecting.accepts(response.status) else { throw await session.unexpected(response) }
      keepFile()
      return response
    }
    try await receive(response)
    return response
  }

  private func part(from point: ResumePoint?) -> HTTPRequest {
    var request = request
    // The file is the server's, not its decoded content: an archive that the server labels with a coding would lose
    // its compression but not its name. A coded body could not be resumed either: an offset in decoded bytes does not
    // exist in the bytes that the server sends.
    if !request.fields.contains(.acceptEncoding) { request.fields[.acceptEncoding] = "identity" }
    for (name, value) in point?.fields ?? [:] { request.fields[name] = value }
    return request
  }

  private func decision(on response: HTTPResponse, after point: ResumePoint?) -> ResumeRule.Decision {
    if request.fields.contains(.range), response.status == .partialContent { return .whole }
    var head = response.head
    // If a coding was decoded, it is missing in the head, but matters for the decision.
    if let received = response.networkHead, received.status == head.status { head.fields = received.fields }
    return ResumeRule.decide(head, after: point)
  }

  private mutating func begin(_ response: HTTPResponse) throws(HTTPError) {
    try file.empty()
    size = response.body.length
    sentDigest = FileDigest.named(by: response)
    isJoined = false
    // A response from the cache is complete.
    validator = response.networkHead.flatMap { ResumeRule.validator(of: $0, now: session.configuration.now()) }
  }

  private func receive(_ response: HTTPResponse) async throws(HTTPError) {
    do throws(HTTPError) {
      for try await chunk in response.body {
        try await append(chunk)
        if let limit = request.options.bodyLimit, file.count > limit { throw HTTPError.bodyTooLarge(limit: limit) }
      }
      if let size, file.count != size {
        throw HTTPError(
          .connectionLost, "the server sent \(file.count) bytes of \(size)", phase: .receiving)
      }
      try await complete()
    } catch {
      response.body.cancel()
      throw error
    }
  }

  private func append(_ chunk: Data) async throws(HTTPError) {
    do {
      if let partial = file.partial { return try partial.append(chunk) }
      try await withinDeadline { [file] in try await file.append(chunk) }
    } catch { throw HTTPError(wrapping: error) }
  }

  private func withinDeadline(_ work: @escaping @Sendable () async throws -> Void) async throws {
    if let deadline { try await deadline.limiting(work) } else { try await work() }
  }

  /// Lets the file appear if it has the required digest.
  private func complete() async throws(HTTPError) {
    guard let partial = file.partial else {
      do { return try await withinDeadline { [file] in try await file.complete() } } catch {
        throw HTTPError(wrapping: error)
      }
    }
    if digest != nil || isJoined && request.options.checksDigests {
      if let expected = digest?.given ?? sentDigest {
        try partial.check(expected, isGiven: digest?.given != nil)
      } else if digest != nil {
        throw HTTPError(
          .digestMismatch, "the server sent no digest that can be checked: pass one, or download without verifying",
          phase: .receiving)
      }
    }
    try partial.complete()
  }

  /// Waits after a failure; not after a request that received bytes.
  private func wait() async throws {
    guard rule.failures > 0 else { return try Task.checkCancellation() }
    let pause = rule.delay(fraction: request.options.retryPolicy.random())
    try await withinDeadline { [clock = session.configuration.clock] in try await clock.sleep(for: pause) }
  }

  /// Keeps the file if the caller wants that and a later download can continue it. Returns where, and the file.
  @discardableResult
  private func keepFile() -> (point: ResumePoint, file: PartialFile)? {
    guard let kept else { return nil }
    let point = size.map { kept.count <= $0 } ?? true ? point : nil
    kept.keep(point != nil)
    return point.map { ($0, kept) }
  }

  private func resumable(_ error: HTTPError) -> HTTPError {
    guard error.kind != .digestMismatch else {
      kept?.keep(false)  // These bytes cannot be continued.
      return error
    }
    guard let (point, file) = keepFile() else { return error }
    var error = error
    error.resumption = DownloadResumption(
      url: request.url, file: file.url, byteCount: point.count, size: size, validator: point.validator,
      identity: file.identity)
    return error
  }
}
