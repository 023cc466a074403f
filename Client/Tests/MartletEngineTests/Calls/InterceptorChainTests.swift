@_spi(Toolkit) @testable import MartletEngine
import CallDoubles
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Interceptors that return the response themselves.
@Suite(.timeLimit(.minutes(5)))
struct InterceptorChainTests {
  /// Returns a response instead of sending the request, and records the responses that it reviews.
  private final class Responder: Interceptor {
    let status: HTTPStatus
    let fields: HTTPFields
    let reviewed = Mutex<[HTTPStatus]>([])

    init(_ status: HTTPStatus, _ fields: HTTPFields = [:]) { (self.status, self.fields) = (status, fields) }

    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      .respond(HTTPResponse(status: status, fields: fields, url: request.url))
    }

    func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
      reviewed.withLock { $0.append((try? outcome.get().status) ?? .badGateway) }
      return .accept
    }
  }

  private func session(
    _ transport: ScriptedTransport, _ interceptors: [any Interceptor], _ credentials: [any CredentialSource] = []
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.interceptors = interceptors
    configuration.credentials = credentials
    return HTTPSession(transport: transport, configuration: configuration)
  }

  @Test func nothingIsSentForAResponseOfAnInterceptor() async throws {
    let transport = ScriptedTransport([.text("sent")])
    let responder = Responder(.ok, [.setCookie: "a=b"])
    let session = session(transport, [responder])

    let response = try await session.data(for: HTTPRequest(.get, origin)).1

    #expect(response.status == .ok)
    #expect(response.networkHead == nil)
    #expect(transport.requests.isEmpty)
    #expect(responder.reviewed.withLock { $0 } == [.ok])
  }

  @Test(
    arguments: [
      (.all, ["prepare", "review"]), (.prepare, ["prepare"]), (.review, ["review"]), ([], []),
    ] as [(InterceptorStages, [String])])
  func interceptorIsCalledInItsStagesOnly(_ stages: InterceptorStages, calls: [String]) async throws {
    struct Recording: Interceptor {
      let stages: InterceptorStages
      let seen: Log<String>

      func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
        seen.append("prepare")
        return .send(request)
      }

      func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
        seen.append("review")
        return .accept
      }
    }
    let seen = Log<String>()
    let recording = Recording(stages: stages, seen: seen)
    _ = try await session(ScriptedTransport([.text("sent")]), [recording]).data(for: HTTPRequest(.get, origin))
    #expect(seen.entries == calls)
  }

  @Test func onlyInterceptorsThatPreparedTheAttemptReviewIt() async throws {
    let seen = Log<String>()
    let first = TestInterceptor(review: { _, _ in
      seen.append("first")
      return .accept
    })
    let last = TestInterceptor(review: { _, _ in
      seen.append("last")
      return .accept
    })
    let session = session(ScriptedTransport([]), [first, Responder(.ok), last])

    _ = try await session.data(for: HTTPRequest(.get, origin))

    #expect(seen.entries == ["first"])
  }

  @Test(arguments: [HTTPStatus.unauthorized, .found])
  func aChallengeOrARedirectOfAnInterceptorIsTheCallersResponse(_ status: HTTPStatus) async throws {
    let asked = Counter()
    let source = PasswordSource(for: .any) { _ in
      asked.next()
      return Credential(user: "a", password: "b")
    }
    let responder = Responder(status, [.wwwAuthenticate: "Basic realm=r", .location: "/other"])
    let transport = ScriptedTransport([])

    let response = try await session(transport, [responder], [source]).data(for: HTTPRequest(.get, origin)).1

    #expect(response.status == status)
    #expect(response.history.isEmpty)
    #expect(asked.value == 0)
    #expect(transport.requests.isEmpty)
  }

  /// Does its part at once, or leaves a second half to be awaited, and records both.
  private struct Named: ImmediateInterceptor {
    let name: String
    let isAtOnce: Bool
    let seen: Log<String>

    func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>? {
      request.fields.append(name, for: "X-Names")
      if isAtOnce { return nil }
      return { [request] in
        var request = request
        request.fields.append(name + "…", for: "X-Names")
        return .send(request)
      }
    }

    func reviewImmediately(_ outcome: Outcome, of attempt: Attempt, in call: Call) -> Unfinished<Verdict>? {
      seen.append(name)
      if isAtOnce { return nil }
      return {
        seen.append(name + "…")
        return .accept
      }
    }
  }

  @Test(arguments: [[true, true, true], [true, false, true], [false, true, false], [false, false, true]])
  func interceptorsThatDoTheirPartAtOnceKeepTheirPlace(_ areAtOnce: [Bool]) async throws {
    let seen = Log<String>()
    let names = areAtOnce.indices.map { areAtOnce[$0] ? ["\($0)"] : ["\($0)", "\($0)…"] }
    let interceptors = areAtOnce.enumerated().map { Named(name: "\($0.offset)", isAtOnce: $0.element, seen: seen) }
    let transport = ScriptedTransport([.text("sent")])

    _ = try await session(transport, interceptors).data(for: HTTPRequest(.get, origin))

    #expect(transport.requests.first?.fields[values: "X-Names"] == names.flatMap(\.self))
    #expect(seen.entries == names.reversed().flatMap(\.self))
  }
}
