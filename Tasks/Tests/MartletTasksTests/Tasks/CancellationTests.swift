import MartletTasks
import MartletTasksTesting
import MartletTesting
import Testing

@Suite("Cancelling each of the ways to run a task ends the call", .timeLimit(.minutes(5)))
struct CancellationTests {
  private let asked = Gate()
  private let cancelled = Gate()
  private let mock = makeMock()

  init() {
    mock["slow"] = .closure { [asked, cancelled] _ in
      asked.open()
      do { try await Task.sleep(for: .seconds(1_000)) } catch {
        cancelled.open()
        throw error
      }
      return .response()
    }
  }

  private func slow() -> NetworkTask<Void> { NetworkRequest().path("slow").task(session: mock) }

  @Test func asynchronousCall() async throws {
    let task = Task { await slow().execute() }
    try await asked.wait()
    task.cancel()
    #expect((await task.value.error as? HTTPError)?.isCancelled == true)
    try await cancelled.wait()
  }

  @Test func asynchronousValue() async throws {
    let task = Task { try await slow().value() }
    try await asked.wait()
    task.cancel()
    #expect((await #expect(throws: HTTPError.self) { try await task.value })?.isCancelled == true)
    try await cancelled.wait()
  }

  @Test func callbackWithTheResponse() async throws {
    let isOver = Gate()
    let running = slow().execute { response in
      #expect((response.error as? HTTPError)?.isCancelled == true)
      isOver.open()
    }
    try await asked.wait()
    running.cancel()
    try await isOver.wait()
    try await cancelled.wait()
  }

  @Test func callbackWithTheValue() async throws {
    let isOver = Gate()
    let running = slow().value { result in
      #expect(throws: HTTPError.self) { try result.get() }
      isOver.open()
    }
    try await asked.wait()
    running.cancel()
    try await isOver.wait()
    try await cancelled.wait()
  }

  @Test func publisherOfTheResponse() async throws {
    let subscription = slow().executePublisher().sink { _ in Issue.record("a cancelled publisher is silent") }
    try await asked.wait()
    subscription.cancel()
    try await cancelled.wait()
  }

  @Test func publisherOfTheValue() async throws {
    let subscription = slow().valueProvider().sink { _ in
    } receiveValue: {
      Issue.record("a cancelled publisher is silent")
    }
    try await asked.wait()
    subscription.cancel()
    try await cancelled.wait()
  }

  @Test func taskWithATimeoutAndRetries() async throws {
    let task = Task { await slow().timeout(.seconds(500)).retry(5).execute() }
    try await asked.wait()
    task.cancel()
    #expect((await task.value.error as? HTTPError)?.isCancelled == true)
    #expect(mock.requests.count == 1)
  }
}
