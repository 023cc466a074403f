import Foundation
import MartletTesting
import SAPFoundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The body belongs to the task: which body follows from what a handler answers, for each kind of body.
@Suite("The body of a task", .timeLimit(.minutes(5)))
struct TaskBodyTests {
  enum Body: CaseIterable { case data, stream, uploadedData, uploadedFile, uploadedStream }

  enum Callback: CaseIterable {
    case send, resend
    /// A redirect that keeps the method.
    case redirect
    /// A redirect that makes a GET of the request.
    case changingRedirect
  }

  /// The request with which a handler answers.
  enum Answer: CaseIterable { case shown, original, fresh, otherBytes, noBytes, otherStream, get }

  struct Row: Sendable, CustomTestStringConvertible {
    let (callback, answer, body): (Callback, Answer, Body)

    var testDescription: String { "\(callback) \(answer) \(body)" }

    /// The body that the server receives after the answer.
    var expected: String {
      switch answer {
      case .shown where callback == .changingRedirect, .noBytes, .get: ""
      case .shown, .original, .fresh: "the task's"
      case .otherBytes, .otherStream: "another"
      }
    }

    static let all = Callback.allCases.flatMap { callback in
      Answer.allCases.flatMap { answer in Body.allCases.map { Row(callback: callback, answer: answer, body: $0) } }
    }
  }

  private static func request(_ answer: Answer, shown: URLRequest, of task: SAPURLSessionTask) -> URLRequest {
    var request = task.originalRequest ?? shown
    switch answer {
    case .shown: return shown
    case .original: break
    case .fresh: request = URLRequest("PUT", shown.url ?? URL(filePath: "/"))
    case .otherBytes: request.httpBody = Data("another".utf8)
    case .noBytes: request.httpBody = Data()
    case .otherStream: request.httpBodyStream = InputStream(data: Data("another".utf8))
    case .get: request.httpMethod = "GET"
    }
    request.setValue("yes", forHTTPHeaderField: "X-Answered")
    return request
  }

  private func probe(_ row: Row) -> ObserverProbe {
    ObserverProbe { probe in
      probe.onStream = { .allow(InputStream(data: Data("the task's".utf8))) }
      switch row.callback {
      case .send: probe.onSend = { .allow(Self.request(row.answer, shown: $1, of: $0)) }
      case .resend:
        probe.onResponse = { task, response in
          guard (response as? HTTPURLResponse)?.statusCode == 401, let sent = task.currentRequest else {
            return .allow(response)
          }
          return .resend(Self.request(row.answer, shown: sent, of: task))
        }
      case .redirect, .changingRedirect: break
      }
    }
  }

  private func task(
    of body: Body, to url: URL, in session: SAPURLSession, file: URL,
    _ done: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    var request = URLRequest("PUT", url)
    let bytes = Data("the task's".utf8)
    switch body {
    case .data:
      request.httpBody = bytes
      return session.dataTask(with: request, completionHandler: done)
    case .stream:
      request.httpBodyStream = InputStream(data: bytes)
      return session.dataTask(with: request, completionHandler: done)
    case .uploadedData:
      request.httpBody = Data("ignored".utf8)  // as in Foundation
      return session.uploadTask(with: request, from: bytes, completionHandler: done)
    case .uploadedFile: return session.uploadTask(with: request, fromFile: file, completionHandler: done)
    case .uploadedStream:
      return session.uploadTask(
        withStreamedRequest: request, needNewBodyStream: { InputStream(data: bytes) }, completionHandler: done)
    }
  }

  @Test(arguments: Row.all)
  func anAnswerWithoutABodyKeepsTheTasks(_ row: Row) async throws {
    let folder = try TemporaryFolder()
    try Data("the task's".utf8).write(to: folder.file("body"))
    let count = Shared(0)
    let server = try LoopbackServer { request in
      count.change { $0 += 1 }
      let isFirst = count.value == 1
      switch row.callback {
      case .send: return .text(request.text)
      case .resend: return .text(request.text, status: isFirst ? .unauthorized : .ok)
      case .redirect: return isFirst ? .redirect(to: "/there", status: .temporaryRedirect) : .text(request.text)
      case .changingRedirect: return isFirst ? .redirect(to: "/there", status: .seeOther) : .text(request.text)
      }
    }
    let probe = probe(row)
    let session = SAPURLSession.uncached(probe)

    let outcome = await withCheckedContinuation { continuation in
      let task = task(of: row.body, to: server.url("/here"), in: session, file: folder.file("body")) {
        continuation.resume(returning: Outcome(data: $0, response: $1, error: $2))
      }
      if [.redirect, .changingRedirect].contains(row.callback) {
        probe.onRedirect = { [weak task] _, next in
          task.map { .allow(Self.request(row.answer, shown: next, of: $0)) } ?? .refuse
        }
      }
      task.resume()
    }

    #expect(outcome.text == row.expected)
    #expect(server.requests.count == (row.callback == .send ? 1 : 2))
    #expect((server.requests.last?.fields["X-Answered"] == "yes") == (row.answer != .shown))
  }

  @Test(arguments: [Body.uploadedData, .uploadedFile, .uploadedStream])
  func aDelayedUploadKeepsItsBodyWithAnotherRequest(_ body: Body) async throws {
    let folder = try TemporaryFolder()
    try Data("the task's".utf8).write(to: folder.file("body"))
    let server = try LoopbackServer { .text($0.text) }
    let other = URLRequest("PUT", server.url("/there"))
    let probe = ObserverProbe { $0.onDelayed = { _ in .useNewRequest(other) } }
    let session = SAPURLSession.uncached(probe)

    let outcome = await withCheckedContinuation { continuation in
      let task = task(of: body, to: server.url("/here"), in: session, file: folder.file("body")) {
        continuation.resume(returning: Outcome(data: $0, response: $1, error: $2))
      }
      task.earliestBeginDate = .now
      task.resume()
    }

    #expect(outcome.text == "the task's")
    #expect(server.requests.map(\.path) == ["/there"])
  }
}
