#if os(Linux)
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Testing

@testable import MartletSockets

/// The schedule of connection attempts (RFC 8305).
struct HappyEyeballsTests {
  private let a6 = SocketAddress(IPAddress(.v6, 0xA), port: 80)
  private let b6 = SocketAddress(IPAddress(.v6, 0xB), port: 80)
  private let c6 = SocketAddress(IPAddress(.v6, 0xC), port: 80)
  private let a4 = SocketAddress(IPAddress(.v4, 0x0A00_0001), port: 80)
  private let b4 = SocketAddress(IPAddress(.v4, 0x0A00_0002), port: 80)
  private let delay = HappyEyeballs.standardDelay

  /// Returns the addresses in the order in which they are attempted if every attempt fails.
  private func order(_ addresses: [SocketAddress]) -> [SocketAddress] {
    var race = HappyEyeballs(addresses), order: [SocketAddress] = []
    while case .start(let address) = race.next(now: 0) {
      order.append(address)
      race.failed(address, "refused")
    }
    return order
  }

  @Test func familiesAlternateBeginningWithTheFirst() {
    #expect(order([a6, b6, c6, a4, b4]) == [a6, a4, b6, b4, c6])
    #expect(order([a4, a6, b6]) == [a4, a6, b6])
    #expect(order([a4, b4]) == [a4, b4])
    #expect(order([a4, b4, a4, a4]) == [a4, b4])
    #expect(order([]) == [])
  }

  @Test func anAttemptStarts250MillisecondsAfterThePreviousOne() {
    var race = HappyEyeballs([a6, a4, b6])
    #expect(race.next(now: 1000) == .start(a6))
    #expect(race.next(now: 1000) == .wait(until: 1000 + delay))
    #expect(race.next(now: 999 + delay) == .wait(until: 1000 + delay))
    #expect(race.next(now: 1000 + delay) == .start(a4))
    #expect(race.next(now: 1000 + delay) == .wait(until: 1000 + 2 * delay))
    #expect(race.next(now: 5000 + 2 * delay) == .start(b6))
    #expect(race.next(now: 5000 + 2 * delay) == .wait(until: nil))
    #expect(race.attempts == [a6, a4, b6])
    #expect(delay == 250_000_000)
  }

  @Test func aFailureStartsTheNextAttemptAtOnce() {
    var race = HappyEyeballs([a6, a4, b6])
    _ = race.next(now: 0)
    race.failed(a6, "no route")
    #expect(race.next(now: 1) == .start(a4))
    #expect(race.next(now: 1) == .wait(until: 1 + delay))
    race.failed(a4, "refused")
    #expect(race.next(now: 2) == .start(b6))
    race.failed(b6, "refused")
    #expect(race.next(now: 3) == .giveUp)
    #expect(race.failures.map(\.address) == [a6, a4, b6])
  }

  @Test func aFailureStartsTheNextAttemptWhileAnotherOneIsUnderWay() {
    var race = HappyEyeballs([a6, a4, b6])
    _ = race.next(now: 0)
    _ = race.next(now: delay)
    race.failed(a6, "no route")
    #expect(race.next(now: delay + 1) == .start(b6))
    #expect(race.attempts == [a4, b6])
  }

  @Test func theFirstSuccessEndsTheRace() {
    var race = HappyEyeballs([a6, a4, b6])
    _ = race.next(now: 0)
    _ = race.next(now: delay)
    #expect(race.connected(a4) == [a6])
    #expect(race.next(now: .max) == .wait(until: nil))
    #expect(race.connected(a6) == nil)
    race.failed(a6, "late")
    #expect(race.failures.isEmpty)
  }

  @Test func whatWasNeverStartedNeitherFailsNorSucceeds() {
    var race = HappyEyeballs([a6, a4])
    race.failed(a4, "refused")
    #expect(race.connected(a4) == nil)
    #expect(race.next(now: .max - 1) == .start(a6))
    #expect(race.next(now: .max - 1) == .wait(until: .max))
  }

  @Test func noAddressMeansGivingUp() {
    var race = HappyEyeballs([])
    #expect(race.next(now: 0) == .giveUp)
  }

  @Test func theErrorNamesAllAttempts() {
    var race = HappyEyeballs([a6, a4])
    _ = race.next(now: 0)
    race.failed(a6, "No route to host")
    _ = race.next(now: 0)
    race.failed(a4, "Connection refused")
    let error = race.error(connectingTo: "a.example")
    #expect(error.kind == .cannotConnect)
    #expect(error.phase == .connecting)
    #expect(
      error.message
        == "a.example: cannot connect to ::a port 80: No route to host; 10.0.0.1 port 80: Connection refused")
  }

  /// If one address is in reach, there is a network.
  @Test(arguments: [([true, true], true), ([true, false], false), ([false, false], false)])
  func theNetworkIsDownIfItIsForEveryAddress(areDown: [Bool], isDown: Bool) {
    var race = HappyEyeballs([a6, a4])
    for (address, isNetworkDown) in zip([a6, a4], areDown) {
      _ = race.next(now: 0)
      race.failed(address, "unreachable", isNetworkDown: isNetworkDown)
    }
    #expect((race.error(connectingTo: "a.example").underlying is NetworkIsDown) == isDown)
  }

  @Test func theTimeoutNamesWhatWasTriedAndWhatWasNot() {
    var race = HappyEyeballs([a6, a4, b6])
    _ = race.next(now: 0)
    race.failed(a6, "No route to host")
    _ = race.next(now: 0)
    let error = race.timeout(connectingTo: "a.example", after: .seconds(2))
    #expect(error.kind == .connectTimeout)
    #expect(
      error.message.hasSuffix("::a port 80: No route to host; 10.0.0.1 port 80: no answer; ::b port 80: not tried"))
    #expect(error.message.contains("within 2 s"))
  }

  @Test func theMessageIsBounded() {
    let race = HappyEyeballs((0..<1000).map { SocketAddress(IPAddress(.v6, UInt128($0)), port: 80) })
    let message = race.error(connectingTo: "a.example").message
    #expect(message.hasSuffix("; and 992 more"))
    #expect(message.utf8.count < 1000)
  }
}
#endif
