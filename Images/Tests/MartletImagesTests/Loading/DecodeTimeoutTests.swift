import Dispatch
@testable import MartletImages
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Decoding that does not end", .timeLimit(.minutes(5)))
struct DecodeTimeoutTests {
  /// A format whose decoder blocks its thread until it is released.
  private final class Stuck: Sendable {
    let active = Mutex((now: 0, most: 0))
    let released = DispatchSemaphore(value: 0)

    var format: AdditionalFormat {
      let size = PixelSize(width: 1, height: 1)
      return AdditionalFormat(
        ImageFormat(rawValue: "stuck"), recognizes: { $0.starts(with: Data("stuck".utf8)) },
        decode: { [self] _, _ in
          active.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
          defer { active.withLock { $0.now -= 1 } }
          released.wait()
          return Bitmap(size: size, pixels: [1, 2, 3, 255])
        }, size: { _ in size })
    }
  }

  private func fixture(_ stuck: Stuck, _ clock: ManualClock, threads: Int = 1) throws -> LoadingFixture {
    try LoadingFixture {
      $0.decoding.additionalFormats = [stuck.format]
      $0.concurrentDecodes = threads
      $0.failureAge = .zero
      $0.clock = clock
    } respond: { request in
      request.path.contains("stuck") ? .data(Data("stuck, a picture".utf8), type: "image/x-stuck") : try .picture()
    }
  }

  /// Starts a load whose decoder blocks, and returns when it is blocked.
  private func begin(
    _ target: String, in fixture: LoadingFixture, _ stuck: Stuck, count: Int
  ) async throws -> Task<LoadedImage, any Error> {
    let task = Task { try await fixture.loader.image(for: fixture.picture(target)) }
    try await until { stuck.active.withLock { $0.now } == count }
    return task
  }

  @Test func loadFailsInTimeAlthoughItsDecoderStillWorks() async throws {
    let (stuck, clock) = (Stuck(), ManualClock())
    let fixture = try fixture(stuck, clock)
    defer { stuck.released.signal() }
    let task = try await begin("/stuck", in: fixture, stuck, count: 1)
    try await clock.sleepers(1)

    clock.advance(by: .seconds(60))

    let error = await #expect(throws: ImageLoadError.self) { try await task.value }
    #expect(error?.kind == .timedOut)
    #expect(error?.message.contains("decodeTimeout") == true)
    #expect(stuck.active.withLock { $0.now } == 1)
    _ = try await fixture.loader.image(for: fixture.picture())  // by another thread
  }

  @Test func threadsThatAreLeftBehindAreBounded() async throws {
    let (stuck, clock) = (Stuck(), ManualClock())
    let fixture = try fixture(stuck, clock)
    for number in 1...2 {
      let task = try await begin("/stuck/\(number)", in: fixture, stuck, count: number)
      try await clock.sleepers(1)
      clock.advance(by: .seconds(60))
      _ = await #expect(throws: ImageLoadError.self) { try await task.value }
    }

    let third = fixture.begin(fixture.picture("/stuck/3"))
    try await until { fixture.loader.queueLengths.decodes == 1 }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(60))
    let error = await #expect(throws: ImageLoadError.self) { try await third.value }
    #expect(error?.kind == .timedOut)
    #expect(stuck.active.withLock { $0.most } == 2)

    stuck.released.signal()
    stuck.released.signal()
    _ = try await fixture.loader.image(for: fixture.picture())
  }

  @Test func cancelledLoadLeavesItsThreadBehind() async throws {
    let (stuck, clock) = (Stuck(), ManualClock())
    let fixture = try fixture(stuck, clock)
    defer { stuck.released.signal() }
    let task = try await begin("/stuck", in: fixture, stuck, count: 1)

    task.cancel()

    _ = await #expect(throws: ImageLoadError.self) { try await task.value }
    _ = try await fixture.loader.image(for: fixture.picture())
    #expect(stuck.active.withLock { $0.now } == 1)
  }
}
