import MartletTasks
import MartletTesting
import Synchronization

extension ParityWay {
  /// The column of tasks: the ways to run one.
  static let tasks: [ParityWay] = [
    .run("execute") { .init(response: await $0.execute()) },
    .run("execute { }") { task in
      await callback { done in task.execute { done(.init(response: $0)) }.cancel }
    },
    .run("executePublisher") { task in
      await callback { done in
        silent(task.executePublisher().sink { done(.init(response: $0)) }, done)
      }
    },
    .run("value") { task in
      do { return .init(value: .success(try await task.value())) } catch { return .init(value: .failure(error)) }
    },
    .run("value { }") { task in await callback { done in task.value { done(.init(value: $0)) }.cancel } },
    .run("valueProvider") { task in
      await callback { done in
        let subscription = task.valueProvider().sink {
          if case .failure(let error) = $0 { done(.init(value: .failure(error))) }
        } receiveValue: {
          done(.init(value: .success($0)))
        }
        return silent(subscription, done)
      }
    },
  ]

  private static func run(
    _ name: String, _ run: @escaping @Sendable (NetworkTask<String?>) async -> ParityOutcome
  ) -> ParityWay {
    ParityWay(name: "NetworkTask.\(name)", decodes: true) { scenario, url, configuration in
      let environment = NetworkEnvironment(baseURL: url, headers: [.accept: "application/json"])
      let authenticator = scenario.hasToken ? OldToken(environment) : nil
      let session = StandardNetworkSession(
        environment: { environment }, authenticator: { authenticator }, configuration: configuration)
      return { await run(scenario.networkRequest.task(session: session)) }
    }
  }

  private typealias Done = @Sendable (ParityOutcome) -> Void

  /// Waits for a callback. Cancelling the wait calls the closure that was returned, but the wait continues.
  private static func callback(_ start: (@escaping Done) -> @Sendable () -> Void) async -> ParityOutcome {
    let told = Told()
    let cancel = start { told.tell($0) }
    return await withTaskCancellationHandler {
      await Task { try? await told.isTold.wait() }.value
      return told.outcome.withLock { $0 } ?? .failure("nothing")
    } onCancel: {
      cancel()
    }
  }

  /// A subscriber that cancels receives nothing more.
  private static func silent(_ subscription: AnyCancellable, _ done: @escaping Done) -> @Sendable () -> Void {
    {
      subscription.cancel()
      done(.failure("cancelled"))
    }
  }
}

private final class Told: Sendable {
  let outcome = Mutex<ParityOutcome?>(nil)
  let isTold = Gate()

  func tell(_ outcome: ParityOutcome) {
    self.outcome.withLock { $0 = $0 ?? outcome }
    isTold.open()
  }
}

private actor OldToken: Authenticator {
  private let session: StandardNetworkSession
  private var token = "old"

  init(_ environment: NetworkEnvironment) {
    session = StandardNetworkSession(environment: { environment }, authenticator: { nil })
  }

  func authorize(request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.fields[.authorization] = "Bearer \(token)"
    return request
  }

  func authenticate() async throws {
    token = try await NetworkRequest(method: .POST).path("token").task(session: session).value()
  }
}

extension ParityOutcome {
  fileprivate init(response: NetworkResponse<String?>) {
    switch response.result {
    case .success: self = .answer(response.response?.status, ParityWay.text(response.data))
    case .failure(let error): self.init(error)
    }
  }

  fileprivate init(value: Result<String?, any Error>) {
    switch value {
    case .success(let value): self = .answer(nil, value.map { "\"\($0)\"" } ?? "")
    case .failure(let error): self.init(error)
    }
  }

  private init(_ error: any Error) {
    switch error {
    case NetworkError.service(let message): self = .answer(HTTPStatus(message.statusCode), ParityWay.text(message.data))
    case is DecodingError: self = .undecodable
    default: self = .failure(HTTPError(wrapping: error).kind.name)
    }
  }
}

extension ParityScenario {
  fileprivate var networkRequest: NetworkRequest {
    var request = NetworkRequest(method: method)
    for segment in segments { request = request.pathComponent(segment) }
    for (name, value) in query { request = request.queryItem(name: name, value: value) }
    if let body { request = request.body(body) }
    if let deadline { request = request.timeout(deadline) }
    return request
  }
}
