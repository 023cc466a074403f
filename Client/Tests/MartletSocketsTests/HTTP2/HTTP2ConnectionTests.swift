#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing
@testable import MartletSockets

/// GOAWAY, resets and PING with several streams.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2ConnectionTests {
  /// Submits requests and sends them, after the server's settings.
  private func requests(_ count: Int, _ client: HTTP2Client) throws -> [HTTP2Recorder] {
    client.receive(Frames.settings())
    let recorders = try (0..<count).map { _ in try client.submit().recorder }
    client.pull()
    return recorders
  }

  /// RFC 9113 §6.8: streams above the last one were not processed, the others might have been.
  @Test func aGoAwayRefusesTheStreamsAboveItsLast() throws {
    let client = try HTTP2Client()
    let recorders = try requests(3, client)

    client.receive(Frames.goAway(3))

    #expect(recorders[2].failure?.cause == .refused)
    #expect(recorders[2].failure?.error.delivery == .refused)
    #expect(recorders[0].events.isEmpty)
    #expect(client.capacity == 0)
    #expect(client.session.isDraining)
    #expect(!client.session.isOver)
    client.receive(Frames.headers(stream: 3, ends: true))
    #expect(recorders[1].events == ["head HTTP/2 200 |", "end"])
    client.session.connectionEnded()
    #expect(recorders[0].failure?.error.delivery == .unknown)
    #expect(recorders[0].failure?.error.kind == .connectionLost)
  }

  @Test func aGoAwayWithoutADecisionDrains() throws {
    let client = try HTTP2Client()
    let recorders = try requests(2, client)

    client.receive(Frames.goAway(0x7fff_ffff))
    #expect(recorders.allSatisfy { $0.events.isEmpty })
    #expect(client.session.isDraining)
    client.receive(Frames.headers(stream: 1, ends: true) + Frames.goAway(1))

    #expect(recorders[0].events == ["head HTTP/2 200 |", "end"])
    #expect(recorders[1].failure?.cause == .refused)
    #expect(client.session.isOver)
  }

  @Test func aGoAwayThatRaisesItsLastStreamIsAViolation() throws {
    let client = try HTTP2Client()
    let recorders = try requests(2, client)

    client.receive(Frames.goAway(1))
    client.receive(Frames.goAway(3))

    #expect(recorders[0].failure?.error.kind == .protocolViolation)
    #expect(client.session.failure?.kind == .protocolViolation)
  }

  @Test func aRequestThatWasNotSentIsRefusedByAGoAway() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings([(3, 1)]))
    let recorders = try (0..<3).map { _ in try client.submit().recorder }
    client.pull()

    client.receive(Frames.goAway(0x7fff_ffff))

    #expect(recorders[0].events.isEmpty)
    #expect(recorders[1].failure?.cause == .refused)
    #expect(recorders[2].failure?.cause == .refused)
    client.receive(Frames.headers(stream: 1, ends: true))
    client.pull()
    #expect(client.session.streams.isEmpty)
    #expect(client.session.isOver)
  }

  @Test func aRequestAfterAGoAwayIsRefused() throws {
    let client = try HTTP2Client()
    _ = try requests(1, client)
    client.receive(Frames.goAway(1))

    let error = #expect(throws: HTTPError.self) { try client.submit() }

    #expect(error?.delivery == .refused)
  }

  @Test func theReasonOfAGoAwayIsNamed() throws {
    let client = try HTTP2Client()
    let recorders = try requests(2, client)

    client.receive(Frames.goAway(1, code: 11))
    client.session.connectionEnded()

    #expect(recorders.allSatisfy { $0.failure?.error.message.contains("ENHANCE_YOUR_CALM") == true })
  }

  @Test(arguments: [(7, HTTP2Failure.Cause.refused), (13, .http11Required), (11, .enhanceYourCalm)])
  func codesOfAResetHaveTheirOwnCauses(_ code: Int, _ cause: HTTP2Failure.Cause) throws {
    let client = try HTTP2Client()
    let recorders = try requests(1, client)

    client.receive(Frames.reset(code))

    #expect(recorders[0].failure?.cause == cause)
    #expect(client.session.failure == nil)
  }

  @Test func otherCodesOfAResetAreNamed() throws {
    let client = try HTTP2Client()
    let recorders = try requests(2, client)

    client.receive(Frames.reset(2) + Frames.reset(77, stream: 3))

    #expect(recorders[0].failure?.cause == .reset(.internalError))
    #expect(recorders[0].failure?.error.message.contains("INTERNAL_ERROR") == true)
    #expect(recorders[1].failure?.error.message.contains("error code 77") == true)
  }

  @Test func aResetStreamHearsNoMore() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    server.onRequest = { server.respond($0, body: [1, 2, 3]) }
    let (id, recorder) = try client.submit()
    client.pull()
    server.receive(client.takeOutput())
    let response = server.pull()

    client.session.reset(id)
    client.receive(response)
    client.talk(to: server)

    #expect(recorder.events.isEmpty)
    #expect(server.requests[id]?.resetCode == HTTP2ErrorCode.cancel.rawValue)
    #expect(client.session.streams.isEmpty)
    #expect(client.session.failure == nil)
  }

  @Test func aRequestThatIsResetBeforeItWasSentIsNotSent() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    let (id, recorder) = try client.submit()
    client.session.reset(id)

    client.talk(to: server)

    #expect(recorder.events.isEmpty)
    #expect(server.requests.isEmpty)
    #expect(client.session.streams.isEmpty)
  }

  @Test func theRestOfABodyIsNotSentAfterTheResponse() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    let (id, recorder) = try client.submit(.post, framing: .unknownLength, parts: [.bytes([1], .more)])
    client.talk(to: server)
    server.respond(id, 413, body: Array("too large".utf8))
    client.talk(to: server)

    #expect(recorder.events == ["head HTTP/2 413 |", "body", "end"])
    #expect(server.requests[id]?.resetCode == HTTP2ErrorCode.noError.rawValue)
    let count = recorder.readCount
    client.session.resume(id)
    client.talk(to: server)
    #expect(recorder.readCount == count)
    #expect(client.session.streams.isEmpty)
  }

  @Test func aBodyThatCannotBeReadResetsItsStream() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    let (id, recorder) = try client.submit(.post, framing: .unknownLength, parts: [.bytes([1], .more), .failure])

    client.talk(to: server)

    #expect(server.requests[id]?.resetCode == HTTP2ErrorCode.internalError.rawValue)
    #expect(server.requests[id]?.isWhole == false)
    #expect(recorder.events.isEmpty)
    #expect(client.session.streams.isEmpty)
  }

  @Test func trailersFollowTheBody() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    server.onRequest = { server.respond($0) }
    var trailers = HTTP2Fields()
    trailers.append([FieldName("Digest"): "abc"])
    let (id, recorder) = try client.submit(
      .post, framing: .unknownLength, parts: [.bytes([1, 2], .more), .bytes([3], .trailers(trailers))])

    client.talk(to: server)

    #expect(server.requests[id]?.body == [1, 2, 3])
    #expect(server.requests[id]?.trailers == ["digest: abc"])
    #expect(server.requests[id]?.isWhole == true)
    #expect(recorder.events.last == "end")
    #expect(recorder.isSent)
  }

  @Test func aPingIsSentAtOnce() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings())
    _ = client.takeOutput()

    client.session.ping()
    client.pull()

    #expect(client.takeOutput() == Frames.ping(0))
  }

  @Test func theTimeOfTheLastBytesIsKept() throws {
    let client = try HTTP2Client()
    #expect(client.session.lastReceived == nil)
    client.now = 5
    client.receive(Frames.settings())
    client.now = 9
    #expect(client.session.lastReceived == 5)
  }

  @Test func aPingOfTheServerIsAnswered() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings())
    _ = client.takeOutput()

    client.receive(Frames.ping(0x0102))

    #expect(client.takeOutput() == Frames.ping(0x0102, flags: Frames.acknowledgement))
  }

  @Test func aViolationIsAnsweredWithAGoAway() throws {
    let client = try HTTP2Client()
    _ = try requests(1, client)
    _ = client.takeOutput()

    let error = client.receive(Frames.data("x", stream: 101))

    #expect(error?.message.contains("DATA: stream in idle") == true)
    #expect(client.takeOutput().starts(with: Frames.goAway(0, code: 1, debug: "DATA: stream in idle")))
    #expect(client.receive(Frames.ping())?.message == error?.message)
  }

  @Test(arguments: [
    "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
    "220 hello",
  ])
  func aServerOfAnotherProtocolIsNamed(_ text: String) throws {
    for size in [1, Int.max] {
      let client = try HTTP2Client()
      let (_, recorder) = try client.submit()
      client.pull()

      client.receive(Array(text.utf8), pieces: size)
      client.session.connectionEnded()

      #expect(recorder.failure?.error.kind == .protocolViolation)
      #expect(recorder.failure?.error.message.contains("does not speak HTTP/2") == true)
    }
  }

  @Test func handlersAreReleasedAfterTheirLastEvent() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings())
    weak var ended: HTTP2Recorder?
    weak var reset: HTTP2Recorder?
    weak var waiting: HTTP2Recorder?
    func submit() throws {
      ended = try client.submit().recorder
      let second = try client.submit()
      reset = second.recorder
      client.session.reset(second.id)
      waiting = try client.submit().recorder
    }
    try submit()
    client.pull()
    client.receive(Frames.headers(ends: true))

    #expect(ended == nil)
    #expect(reset == nil)
    #expect(waiting != nil)
    client.session.connectionEnded()
    #expect(waiting == nil)
  }

  @Test func aHandlerMayUseTheSession() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    server.onRequest = { server.respond($0, body: [1, 2, 3]) }
    let (firstID, first) = try client.submit()
    var second: HTTP2Recorder?
    first.onEvent = { event in
      guard event.hasPrefix("head") else { return }
      client.session.reset(firstID)
      second = try? client.submit().recorder
    }

    client.talk(to: server)

    #expect(first.events == ["head HTTP/2 200 |"])
    #expect(second?.events == ["head HTTP/2 200 |", "body", "end"])
  }

  @Test func aHandlerMaySubmitAgainWhenItsConnectionFails() throws {
    let client = try HTTP2Client()
    let recorders = try requests(3, client)
    var errors: [HTTPError.Delivery?] = []
    for recorder in recorders {
      recorder.onEvent = { _ in
        do { try client.submit() } catch { errors.append((error as? HTTPError)?.delivery) }
      }
    }

    client.receive(Frames.data("x", stream: 101))

    #expect(errors == [.refused, .refused, .refused])
  }
}
#endif
