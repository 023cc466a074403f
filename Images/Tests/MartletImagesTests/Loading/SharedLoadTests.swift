import Martlet
@testable import MartletImages
import MartletTesting
import Testing

@Suite("Shared loads", .timeLimit(.minutes(5)))
struct SharedLoadTests {
  @Test func manyCallersMakeOneGET() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { _ in try .picture().held(by: gate) }
    var callers: [Task<LoadedImage, any Error>] = []
    for _ in 1...20 { callers.append(fixture.begin(fixture.picture())) }

    gate.open()

    for caller in callers { #expect(try await caller.value.bitmap.size.width == 40) }
    #expect(fixture.server.requests.count == 1)
    #expect(fixture.loader.statistics.shared == 19)
  }

  @Test func differentSizesShareOneDownload() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { _ in try .picture("coffee.jpg").held(by: gate) }
    var callers: [Task<LoadedImage, any Error>] = []
    for size in [nil, 60, 30, 60] { callers.append(fixture.begin(fixture.picture(fitting: size))) }

    gate.open()

    var widths: [Int] = []
    for caller in callers { widths.append(try await caller.value.bitmap.size.width) }
    #expect(widths == [600, 60, 30, 60])
    #expect(fixture.server.requests.count == 1)
    #expect(fixture.loader.statistics[.session(.network)].count == 3)
  }

  /// The response timeout ends the request, and with it the load. None of the callers sends a request of its own.
  @Test func callersOfALateImageShareItsFailure() async throws {
    // The clock of the loader stands still: a busy machine must not count as a load that makes no progress.
    let fixture = try LoadingFixture(cache: HTTPCache(), { $0.clock = ManualClock() }, respond: { _ in .never })
    var late = fixture.picture()
    late.http.options.responseTimeout = .milliseconds(200)
    late.http.options.retryPolicy = .never
    let request = late
    let callers = (1...30).map { _ in fixture.begin(request) }

    for caller in callers {
      let error = await #expect(throws: ImageLoadError.self) { try await caller.value }
      #expect(error?.httpError?.isTimeout == true)
    }

    #expect(fixture.server.requests.count == 1)
    #expect(fixture.loader.statistics.shared == 29)
  }

  @Test func cancellingOneCallerDoesNotAffectTheOthers() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { _ in try .picture().held(by: gate) }
    let first = fixture.begin(fixture.picture())
    let second = fixture.begin(fixture.picture())

    first.cancel()

    let error = await #expect(throws: ImageLoadError.self) { try await first.value }
    #expect(error?.kind == .cancelled)
    gate.open()
    #expect(try await second.value.bitmap.size.width == 40)
    #expect(fixture.server.requests.count == 1)
  }

  @Test func cancellingAllCallersCancelsTheDownload() async throws {
    let fixture = try LoadingFixture { _ in .never }
    let callers = [fixture.begin(fixture.picture()), fixture.begin(fixture.picture())]
    _ = try await fixture.server.request(1)

    for caller in callers { caller.cancel() }

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
    for caller in callers { await #expect(throws: ImageLoadError.self) { try await caller.value } }
    #expect(fixture.loader.waiterCount(for: fixture.picture()) == 0)
    #expect(fixture.loader.statistics.failures == 0)
  }

  @Test func callerAfterACancelledLoadStartsAnother() async throws {
    let fixture = try LoadingFixture { request in
      request.fields["X-Wait"] == nil ? try .picture() : .never
    }
    var held = fixture.picture()
    held.http.fields["X-Wait"] = "1"
    let given = fixture.begin(held)
    _ = try await fixture.server.request(1)
    given.cancel()
    await #expect(throws: ImageLoadError.self) { try await given.value }

    #expect(try await fixture.loader.image(for: fixture.picture()).source == .session(.network))
  }

  @Test func callerAfterTheResponseSendsANewRequest() async throws {
    let fixture = try LoadingFixture {
      $0.cache = nil
    } respond: { _ in
      try .picture()
    }

    for _ in 0..<100 { _ = try await fixture.loader.image(for: fixture.picture()) }

    #expect(fixture.server.requests.count == 100)
    #expect(fixture.loader.statistics.shared == 0)
  }

  @Test func cancelledCallerSendsNothing() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    let gate = Gate()
    let caller = Task {
      try? await gate.wait()
      return try await fixture.loader.image(for: fixture.picture())
    }
    caller.cancel()

    let error = await #expect(throws: ImageLoadError.self) { try await caller.value }

    #expect(error?.kind == .cancelled)
    #expect(fixture.server.requests.isEmpty)
  }
}
