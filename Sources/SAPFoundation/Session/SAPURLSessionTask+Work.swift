import Foundation
import MartletEngine
import MartletSemantics
import MartletURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// What a task does for those that run it.
extension SAPURLSessionTask {
  /// What somebody made the task fail with; the first counts.
  var failure: (any Error)? { mutable.withLock { $0.error } }

  /// Makes the task fail with exactly this error, and returns it to be thrown.
  func fail(_ error: any Error) -> any Error {
    mutable.withLock { state in
      state.error = state.error ?? error
      return state.error ?? error
    }
  }

  func waitUntilResumed() async throws {
    while let gate = mutable.withLock({ $0.hold() }) { try await gate.wait() }
  }

  /// Writes a body to a temporary file, which is the task's ``downloadLocation``.
  func write(_ body: ResponseBody) async throws {
    let location = Self.temporaryFile()
    let file = try PartialFile(for: location, label: Self.temporaryFileLabel, access: .ownerOnly)
    for try await chunk in body {
      try await waitUntilResumed()
      try file.append(chunk)
    }
    try file.complete()
    mutable.withLock { $0.location = location }
  }

  static let temporaryFileLabel = "sapurlsession"

  static func temporaryFile() -> URL {
    FileManager.default.temporaryDirectory.appending(component: "\(temporaryFileLabel)-\(UUID().uuidString).tmp")
  }

  /// The body that the task has beside its request, or the request's stream; nil for the request's own bytes.
  func uploadBody(for request: URLRequest) -> RequestBody? {
    let length = request.fields[.contentLength].flatMap { Int64($0) }
    switch upload {
    case .data(let data): return .data(data)
    case .file(let file): return .file(file)
    case .stream(let make): return .stream(length: length) { [self] in try await newStream(make) }
    case nil:
      guard let stream = request.httpBodyStream else { return nil }
      let first = Locked<InputStream?>(stream)  // there once; whoever needs it again has to give another
      return .stream(length: length) { [self] in
        guard let stream = first.withLock({ $0.take() }) else { return try await newStream { nil } }
        return try StreamChunks(opening: stream)
      }
    }
  }

  /// A stream for the body: of the last observer that gives one, or of the delegate, else the task's own.
  private func newStream(_ own: @Sendable () -> InputStream?) async throws -> StreamChunks {
    var stream: InputStream?
    for party in session.parties where session.takesPart(party) {
      let answer: SAPURLSession.InputStreamDisposition = try await session.ask(party) { [self] events, done in
        events.sapURLSession(session, task: self, needNewBodyStream: done)
      }
      switch answer {
      case .allow(let given): stream = given ?? stream
      case .cancel(let error): throw fail(error)
      }
    }
    guard let stream = stream ?? own() else { throw URLError.noBodyStream }
    return try StreamChunks(opening: stream)
  }

  // MARK: Decisions of the observers that the engine asks for

  func decide(on next: HTTPRequest, after response: HTTPResponse, like template: URLRequest) async throws
    -> HTTPRequest?
  {
    mutable.withLock { $0.followsRedirect = true }
    guard !session.parties.isEmpty else { return next }
    guard let redirect = response.urlResponse else { return next }
    let shown = next.urlRequest(like: template)
    let answer = try await consult(SAPURLSession.HTTPRedirectDisposition.allow(shown)) { [self] in
      $0.sapURLSession(
        session, task: self, willPerformHTTPRedirection: redirect, newRequest: $1, completionHandler: $2)
    }
    guard case .allow(let request) = answer else { return nil }
    var next = next
    try next.apply(request, insteadOf: shown, session.foundationConfiguration)
    return next
  }

  func decide(onStoring answer: HTTPResponse) async throws -> HTTPResponse? {
    guard mutable.withLock({ $0.phase != .over }) else { return answer }  // the cache goes on for itself
    let data = try await answer.body.collect(upTo: .max)
    guard let shown = answer.urlResponse else { return nil }
    let proposed = CachedURLResponse(response: shown, data: data)
    let decision = try await consult(SAPURLSession.CacheResponseDisposition.allow(proposed)) { [self] in
      $0.sapURLSession(session, dataTask: self, willCacheResponse: $1, completionHandler: $2)
    }
    guard case .allow(let chosen) = decision, chosen.storagePolicy != .notAllowed else { return nil }
    var stored = answer
    if chosen.response !== shown { stored.apply(chosen.response, insteadOf: shown) }
    stored.body = ResponseBody(chosen.data)
    return stored
  }
}
