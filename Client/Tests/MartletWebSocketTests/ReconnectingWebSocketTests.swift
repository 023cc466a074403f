import Foundation
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletWebSocket

/// A WebSocket that is opened again when it is lost.
@Suite(.timeLimit(.minutes(5)))
struct ReconnectingWebSocketTests {
  private static let now = Date(timeIntervalSince1970: 1_000_000_000)

  let clock = ManualClock()
  let openings = Awaitable(0)

  /// Returns a WebSocket whose connections are served by this closure, with the number of the connection from 1.
  func socket(
    _ change: (inout Reconnection) -> Void = { _ in },
    opened: @escaping @Sendable (WebSocket) async throws -> Void = { _ in },
    _ answer: @escaping @Sendable (Int) -> MockResponse
  ) -> ReconnectingWebSocket {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.now = { Self.now }
    let transport = MockTransport { [openings] _ in
      answer(
        openings.update {
          $0 += 1
          return $0
        })
    }
    var reconnection = Reconnection()
    reconnection.random = { 1 }
    change(&reconnection)
    return HTTPSession(transport: transport, configuration: configuration).reconnectingWebSocket(
      for: HTTPRequest(.get, "wss://chat.example/room"), reconnection: reconnection, opened: opened)
  }

  /// Lets the delay before the next attempt pass.
  func pass(_ time: Duration) async throws {
    try await clock.sleepers(1, within: time)
    clock.advance(by: time)
  }

  @Test func nothingIsSentBeforeItIsUsed() async throws {
    let room = socket { _ in .webSocket { try await $0.send(.string("welcome")) } }
    guard case .idle = room.state else {
      Issue.record("\(room.state)")
      return
    }
    #expect(openings.value == 0)
    #expect(try await room.receive() == .string("welcome"))
    #expect(openings.value == 1)
  }

  @Test(arguments: [1001, 1006, 1011, 1012, 1013] as [UInt16])
  func aConnectionThatTheServerLeavesIsFollowedByAnother(_ code: UInt16) async throws {
    let room = socket { number in
      .webSocket { socket in
        try await socket.send(.string("\(number)"))
        if number == 2 { return _ = try await socket.receive() }
        if code == 1006 { socket.lose() } else { socket.close(.init(rawValue: code)) }
      }
    }
    #expect(try await room.receive() == .string("1"))
    async let next = room.receive()
    try await pass(.seconds(1))
    #expect(try await next == .string("2"))
    await room.close()
    #expect(try await room.receive() == nil)
  }

  @Test(arguments: [1000, 1002, 1003, 1007, 1008, 1009, 1010, 3000, 4001] as [UInt16])
  func aServerThatEndsTheConversationIsNotAskedAgain(_ code: UInt16) async throws {
    let room = socket { _ in .webSocket { $0.close(.init(rawValue: code)) } }
    if code == 1000 {
      #expect(try await room.receive() == nil)
    } else {
      let error = await #expect(throws: HTTPError.self) { try await room.receive() }
      #expect(error?.kind == .connectionLost)
    }
    guard case .ended(let error) = room.state else {
      Issue.record("\(room.state)")
      return
    }
    #expect((error == nil) == (code == 1000))
    #expect(openings.value == 1)
  }

  @Test func theDelaysDoubleUntilAConnectionLasts() async throws {
    let lasted = Gate()
    let room = socket { number in
      number < 4 || number == 5
        ? .failure(HTTPError(.cannotConnect, "nobody there"))
        : .webSocket { socket in
          try await socket.send(.string("\(number)"))
          if number == 6 { return _ = try await socket.receive() }
          try await lasted.wait()
          socket.lose()
        }
    }
    async let first = room.receive()
    for seconds in [1, 2, 4] { try await pass(.seconds(seconds)) }
    #expect(try await first == .string("4"))
    clock.advance(by: .seconds(5))
    lasted.open()
    async let second = room.receive()
    for seconds in [1, 2] { try await pass(.seconds(seconds)) }
    #expect(try await second == .string("6"))
    #expect(openings.value == 6)
    await room.close()
  }

  @Test func aServerThatGreetsAndDropsIsAskedLessAndLessOften() async throws {
    let room = socket {
      $0.failureLimit = 5
    } _: { number in
      .webSocket { socket in
        try await socket.send(.string("\(number)"))
        socket.lose()
      }
    }
    #expect(try await room.receive() == .string("1"))
    for (number, seconds) in [(2, 1), (3, 2), (4, 4), (5, 8)] {
      async let next = room.receive()
      try await clock.sleepers(1, within: .seconds(seconds))
      #expect(clock.pendingWakeUps == [.seconds(seconds)])
      clock.advance(by: .seconds(seconds))
      #expect(try await next == .string("\(number)"))
    }
    let error = await #expect(throws: HTTPError.self) { try await room.receive() }
    #expect(error?.kind == .connectionLost)
  }

  @Test(arguments: [500, 502, 507, 408, 501, 505, 400, 404]) func aServerThatFailsIsAskedAgain(status: Int) async throws
  {
    let room = socket { number in
      number == 1
        ? .status(HTTPStatus(status)) : .webSocket { try await $0.send(.string("here")) }
    }
    let message = Task { try await room.receive() }
    if [501, 505, 400, 404].contains(status) {
      let error = await #expect(throws: HTTPError.self) { try await message.value }
      #expect(error?.response?.status.code == status)
    } else {
      try await pass(.seconds(1))
      #expect(try await message.value == .string("here"))
    }
  }

  // MARK: - Names of hosts

  private static let unknown = HTTPError(.cannotResolveHost, "no such host", underlying: UnknownHostName())

  @Test func aHostThatDoesNotExistIsFinal() async throws {
    let room = socket { _ in .failure(Self.unknown) }
    let error = await #expect(throws: HTTPError.self) { try await room.receive() }
    #expect(error?.kind == .cannotResolveHost)
    #expect(openings.value == 1)
  }

  @Test func overSocketsANameThatCannotExistIsFinal() async throws {
    let name = Array(repeating: "label", count: 50).joined(separator: ".")
    let room = HTTPSession(transport: SocketTransport()).reconnectingWebSocket(
      for: HTTPRequest(.get, "ws://\(name).example/"))
    let error = await #expect(throws: HTTPError.self) { try await room.receive() }
    #expect(error?.kind == .cannotResolveHost)
  }

  /// There may be no network, or a name server fails.
  @Test func aHostThatIsNotFoundIsLookedUpAgain() async throws {
    let room = socket { number in
      switch number {
      case 1: .failure(HTTPError(.cannotResolveHost, "no answer of a name server"))
      case 2: .webSocket { $0.lose() }
      case 3: .failure(Self.unknown)  // it led to a server before
      default: .webSocket { try await $0.send(.string("here")) }
      }
    }
    async let message = room.receive()
    for seconds in [1, 2, 4] { try await pass(.seconds(seconds)) }
    #expect(try await message == .string("here"))
  }

  /// A date is measured by the session's time. A server that asks for millions of years is mistaken.
  @Test(arguments: [("7", 7), (HTTPDate.format(now.addingTimeInterval(7)), 7), ("1000000000000000", 3600)])
  func theServersRetryAfterCountsIfItIsLonger(field: String, seconds: Int) async throws {
    let room = socket { number in
      number == 1
        ? .status(.serviceUnavailable, fields: [.retryAfter: field])
        : .webSocket { try await $0.send(.string("here")) }
    }
    async let message = room.receive()
    // the limit for the body of the refusal may still be there
    try await until { clock.pendingWakeUps.contains(.seconds(seconds)) }
    clock.advance(by: .seconds(seconds))
    #expect(try await message == .string("here"))
  }

  @Test func aRefusalThatIsNotTransientIsFinal() async throws {
    let room = socket { _ in .text("no", status: .forbidden) }
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await room.receive() }
      #expect(error?.response?.status == .forbidden)
      await #expect(throws: HTTPError.self) { try await room.send(.string("a")) }
    }
    #expect(openings.value == 1)
  }

  @Test func theLastOfTooManyFailuresIsFinal() async throws {
    let room = socket {
      $0.failureLimit = 3
    } _: {
      .failure(HTTPError(.cannotConnect, "failure \($0)"))
    }
    let message = Task { try await room.receive() }
    for seconds in [1, 2] { try await pass(.seconds(seconds)) }
    let error = await #expect(throws: HTTPError.self) { try await message.value }
    #expect(error?.message.contains("failure 3") == true)
  }

  @Test func whatTheServerHasToKnowIsSentFirstOnEveryConnection() async throws {
    let heard = Awaitable<[String]>([])
    let room = socket {
      $0.backoff.base = .zero
    } opened: { socket in
      try await socket.send(.string("join"))
    } _: { number in
      .webSocket { socket in
        while let message = try await socket.receive() {
          heard.update { $0.append("\(number): \(message)") }
          if message == .string("drop") { return socket.lose() }
          try await socket.send(message)
        }
      }
    }
    try await room.send(.string("drop"))
    #expect(try await room.receive() == .string("join"))  // of the first connection
    #expect(try await room.receive() == .string("join"))  // and of the second
    try await room.send(.string("again"))
    #expect(try await room.receive() == .string("again"))
    #expect(heard.value.count == 4)
    #expect(heard.value.map { String($0.prefix(2)) } == ["1:", "1:", "2:", "2:"])
    await room.close()
  }

  /// A server that refuses the sign-in would otherwise be asked again for ever.
  @Test(arguments: [1000, 1008, 4001] as [UInt16])
  func aFinalCloseWhileTheClosureRunsIsFinal(_ code: UInt16) async throws {
    let room = socket(
      opened: { socket in
        try await socket.send(.string("a token"))
        _ = try await socket.receive()
      },
      { _ in
        .webSocket { socket in
          _ = try await socket.receive()
          socket.close(.init(rawValue: code))
        }
      })
    if code == 1000 {
      #expect(try await room.receive() == nil)
    } else {
      await #expect(throws: HTTPError.self) { try await room.receive() }
    }
    #expect(openings.value == 1)
    #expect(room.closeCode?.rawValue == code)
  }

  @Test func aTemporaryCloseWhileTheClosureRunsIsFollowedByAnotherConnection() async throws {
    let room = socket(
      opened: { _ = try await $0.receive() },
      { number in
        .webSocket { socket in
          guard number == 2 else { return socket.close(.tryAgainLater) }
          try await socket.send(.string("welcome"))
          try await socket.send(.string("news"))
          _ = try await socket.receive()
        }
      })
    async let news = room.receive()
    try await pass(.seconds(1))
    #expect(try await news == .string("news"))
    await room.close()
  }

  @Test func anErrorOfTheClosureCountsAsThatOfTheAttempt() async throws {
    let closed = Awaitable<[WebSocket.CloseCode]>([])
    let room = socket(
      opened: { _ in throw HTTPError(.cancelled, "not this one") },
      { _ in
        .webSocket { socket in
          _ = try await socket.receive()
          closed.update { $0.append(socket.clientClose?.code ?? .abnormalClosure) }
        }
      })
    await #expect(throws: HTTPError.self) { try await room.receive() }
    #expect(try await closed.wait { $0.first } == .goingAway)
  }

  @Test func aSendWaitsForTheNextConnection() async throws {
    let heard = Awaitable<WebSocket.Message?>(nil)
    let room = socket { number in
      number == 1
        ? .failure(HTTPError(.cannotConnect, "not yet"))
        : .webSocket { socket in
          let message = try await socket.receive()
          heard.update { $0 = message }
        }
    }
    async let sent: Void = room.send(.string("patient"))
    try await pass(.seconds(1))
    try await sent
    #expect(try await heard.wait { $0 } == .string("patient"))
  }

  @Test func aCancelledWaitDoesNotEndTheWebSocket() async throws {
    let gate = Gate()
    let room = socket { _ in
      .webSocket { socket in
        try await gate.wait()
        try await socket.send(.string("late"))
      }
    }
    let task = Task { try await room.receive() }
    _ = try await openings.wait { $0 == 1 ? true : nil }
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.isCancelled == true)
    gate.open()
    #expect(try await room.receive() == .string("late"))
  }

  @Test func aReleasedOneOpensNoOtherConnection() async throws {
    var room: ReconnectingWebSocket? = socket { _ in .failure(HTTPError(.cannotConnect, "nobody there")) }
    let states = try #require(room?.states)
    let waiting = Task { [weak room] in try await room?.receive() }
    try await clock.sleepers(1, within: .seconds(1))
    waiting.cancel()
    _ = try? await waiting.value
    room = nil
    var last = ""
    for await state in states { last = "\(state)" }  // ends when it is released
    #expect(last.hasPrefix("waiting"))
    clock.advance(by: .seconds(100))
    #expect(openings.value == 1)
  }

  @Test func aClosedOneSaysSoAndOpensNoOther() async throws {
    let room = socket { _ in .webSocket { _ = try await $0.receive() } }
    try await room.send(.string("hello"))
    await room.close(.normalClosure, reason: "bye")
    let error = await #expect(throws: HTTPError.self) { try await room.send(.string("more")) }
    #expect(error?.kind == .shutDown)
    #expect(try await room.receive() == nil)
    guard case .ended(nil) = room.state else {
      Issue.record("\(room.state)")
      return
    }
    #expect(openings.value == 1)
  }

  @Test func theCodeWithWhichTheServerAnswersACloseIsKept() async throws {
    let server = try LoopbackServer { _ in .webSocket { while try $0.receive() != nil {} } }
    let room = HTTPSession(transport: SocketTransport()).reconnectingWebSocket(for: HTTPRequest(.get, server.url("/")))
    try await room.send(.string("hello"))
    await room.close(WebSocket.CloseCode(rawValue: 4000), reason: "bye")
    #expect(room.closeCode?.rawValue == 4000)
  }

  @Test func aLossIsAStateWithItsDelayAndError() async throws {
    let room = socket { number in
      .webSocket { socket in
        if number == 1 { return socket.close(.serviceRestart, reason: "update") }
        _ = try await socket.receive()
      }
    }
    let receiver = Task { try await room.receive() }
    try await clock.sleepers(1, within: .seconds(1))
    guard case .waiting(let delay, let error) = room.state else {
      Issue.record("\(room.state)")
      return
    }
    #expect(delay == .seconds(1) && error.message.contains("1012"))
    #expect(room.closeCode == .serviceRestart && room.closeReason == "update")
    await room.close()
    #expect(try await receiver.value == nil)
  }
}
