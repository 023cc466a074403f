package import MartletSemantics

/// Where a download's file appears, and how it is made.
package struct DownloadDestination: Sendable {
  package var url: URL
  /// What the names of partial files begin with, and what a resumption's has to begin with; nil for the beginning of the
  /// destination's own name.
  package var label: String?
  package var access = PartialFile.Access.standard

  package init(_ url: URL, label: String? = nil, access: PartialFile.Access = .standard) {
    (self.url, self.label, self.access) = (url, label, access)
  }
}

/// One call of a download verb: the file, and the exchanges that fill it. Each begins where the last one broke off, if the
/// resource is still the same, and at the beginning if not; see `ResumeRule`.
struct Download {
  private let session: HTTPSession
  private let request: HTTPRequest
  private let file: PartialFile
  private let options: RequestOptions
  private let deadline: Deadline?
  /// Whether a download that fails leaves what it has.
  private let keeps: Bool
  private var validator: String?
  private var size: Int64?
  private var resumptionsLeft: Int
  private var pause = Duration.zero

  init(
    _ request: HTTPRequest, of session: HTTPSession, to destination: DownloadDestination,
    resuming resumption: DownloadResumption?, keeps: Bool
  ) throws(HTTPError) {
    options = request.options.inheriting(from: session.configuration.options)
    deadline = options.deadline.map { Deadline($0, on: session.configuration.clock) }
    // what the caller asks for is a whole only if it is a GET without a range
    let isWhole = request.method == .get && !request.fields.contains(.range)
    self.keeps = keeps && isWhole
    resumptionsLeft = isWhole ? options.downloadResumptions : 0
    self.session = session
    self.request = request
    if let resumption, self.keeps, resumption.url == request.url,
      let file = PartialFile(resuming: resumption, for: destination.url, label: destination.label)
    {
      self.file = file
      (validator, size) = (resumption.validator, resumption.size)
    } else {
      do {
        file = try PartialFile(for: destination.url, label: destination.label, access: destination.access)
      } catch {
        throw error.placed(request: request.head, response: nil, attempts: [])
      }
    }
  }

  mutating func run() async throws(HTTPError) -> HTTPResponse {
    var loss: HTTPError?
    while true {
      let before = file.count
      do throws(HTTPError) {
        if let response = try await exchange(after: loss) { return response }
      } catch {
        guard resumptionsLeft > 0, point != nil, error.isLoss else { throw resumable(error) }
        loss = error
        resumptionsLeft -= 1
        pause = file.count > before ? .zero : min(max(pause * 2, .seconds(1)), .seconds(30))
        do { try await wait() } catch { throw resumable(HTTPError(wrapping: error)) }
      }
    }
  }

  /// Where the next exchange begins; nil at the beginning.
  private var point: ResumePoint? {
    guard let validator, file.count > 0 else { return nil }
    return ResumePoint(count: file.count, validator: validator, size: size)
  }

  /// Returns nil where the download has to begin anew.
  private mutating func exchange(after loss: HTTPError?) async throws(HTTPError) -> HTTPResponse? {
    let point = point
    var response = try await session.respond(to: part(from: point), limit: \.bodyLimit, until: deadline)
    switch decision(on: response, after: point) {
    case .append(let size): self.size = size
    case .whole: try begin(response)
    case .complete:
      response.body.cancel()
      try file.complete()
      response.status = .ok  // the 416 was about the range, which is the engine's; for the caller all is well
      response.body = .empty
      return response
    case .restart:
      response.body.cancel()
      validator = nil
      try file.empty()
      return nil
    case .other:
      if loss == nil, response.status != .partialContent {
        _ = keptPoint()
        return response
      }
      response.body.cancel()
      throw loss
        ?? HTTPError(.protocolViolation, "the server sent a part (206) that was not asked for", phase: .waiting)
    }
    try await receive(response)
    return response
  }

  private func part(from point: ResumePoint?) -> HTTPRequest {
    var request = request
    guard keeps || resumptionsLeft > 0 || point != nil else { return request }
    // a coding could not be gone on with: what was unpacked has no offset in what the server sends
    if !request.fields.contains(.acceptEncoding) { request.fields[.acceptEncoding] = "identity" }
    for (name, value) in point?.fields ?? [:] { request.fields[name] = value }
    return request
  }

  private func decision(on response: HTTPResponse, after point: ResumePoint?) -> ResumeRule.Decision {
    if request.fields.contains(.range), response.status == .partialContent { return .whole }
    var head = response.head
    // a coding that was undone on the way is not in the head any more, and would be a reason to doubt
    if let wire = response.wire, wire.status == head.status { head.fields = wire.fields }
    return ResumeRule.decide(head, after: point)
  }

  private mutating func begin(_ response: HTTPResponse) throws(HTTPError) {
    try file.empty()
    size = response.body.length
    // a response that did not come over the wire is there whole
    validator = response.wire.flatMap { ResumeRule.validator(of: $0, now: Date.now) }
  }

  private func receive(_ response: HTTPResponse) async throws(HTTPError) {
    do throws(HTTPError) {
      for try await chunk in response.body {
        try file.append(chunk)
        if let limit = options.bodyLimit, file.count > limit { throw HTTPError.bodyTooLarge(limit: limit) }
      }
      if let size, file.count != size {
        throw HTTPError(
          .connectionLost, "the server sent \(file.count) bytes of \(size)", phase: .receiving)
      }
      try file.complete()
    } catch {
      response.body.cancel()
      throw error.placed(
        request: RequestHead(method: request.method, url: response.url, fields: request.fields),
        response: response.head, attempts: response.history)
    }
  }

  private func wait() async throws {
    guard pause > .zero else { return try Task.checkCancellation() }
    let sleep: @Sendable () async throws -> Void = { [pause, clock = session.configuration.clock] in
      try await clock.sleep(for: pause)
    }
    if let deadline { try await deadline.holding(sleep) } else { try await sleep() }
  }

  /// Where a later download can begin, if the caller wants that; the file is kept then.
  private func keptPoint() -> ResumePoint? {
    let kept = keeps && size.map { file.count <= $0 } ?? true ? point : nil
    file.keep(kept != nil)
    return kept
  }

  private func resumable(_ error: HTTPError) -> HTTPError {
    guard let point = keptPoint() else { return error }
    var error = error
    error.resumption = DownloadResumption(
      url: request.url, file: file.url, byteCount: point.count, size: size, validator: point.validator,
      identity: file.identity)
    return error
  }
}
