@_spi(Measuring) import MartletCurl
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// HTTP/2 servers that break the rules, frame by frame.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2FaultTests {
  private func session(
    _ server: FrameServer, _ versions: CurlConfiguration.Versions = .automatic, reusesHandles: Bool? = nil,
    _ change: (inout CurlConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var curl = CurlConfiguration()
    change(&curl)
    curl.tls.authorities = server.authority.certificate
    curl.versions = versions
    curl.reusesHandles = reusesHandles
    var configuration = SessionConfiguration()
    configuration.retry = .never
    return HTTPSession(transport: CurlTransport(curl), configuration: configuration)
  }

  private func post(_ server: FrameServer, _ session: HTTPSession) async throws(HTTPError) -> String {
    let request = HTTPRequest(.post, server.url, body: .data(Data("order".utf8)))
    return String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  private func failure(_ server: FrameServer, _ session: HTTPSession) async -> HTTPError? {
    do throws(HTTPError) {
      _ = try await post(server, session)
      return nil
    } catch { return error }
  }

  /// How many requests the server has had, this one included.
  private func count(_ server: FrameServer, _ session: HTTPSession) async throws -> Int? {
    var request = HTTPRequest(.get, server.url)
    request.options.cachePolicy = .reloadIgnoringCacheData
    return Int(String(decoding: try await session.data(for: request).0, as: UTF8.self))
  }

  @Test(arguments: [FrameServer.Fault.idleData, .badSettings, .end], [true, false])
  func aPostOverAConnectionThatFailsIsSentOnce(_ fault: FrameServer.Fault, reusesHandles: Bool) async throws {
    let server = try FrameServer(fault)
    let session = session(server, reusesHandles: reusesHandles)
    #expect(try await post(server, session) == "1")

    let error = await failure(server, session)

    #expect(error?.isConnectionFailure == false)
    #expect(error?.delivery != .refused)
    #expect(try await count(server, session) == 3)
  }

  @Test func aPostThatAGoAwayRefusesMaySayThatItWasRefused() async throws {
    let server = try FrameServer(.goAway)
    let session = session(server)
    _ = try await post(server, session)

    let error = await failure(server, session)

    #expect(error?.delivery == .refused)
  }

  @Test func aPostThatIsRefusedIsSentAgainAtMostByTheSession() async throws {
    let server = try FrameServer(.refused)
    let session = session(server)
    _ = try await post(server, session)

    let error = await failure(server, session)

    #expect(error?.kind == .connectionLost)
    #expect(try await count(server, session) == 3)
  }

  @Test(arguments: [FrameServer.Fault.cutByIdleData, .cutBySettings, .cut])
  func aResponseWithoutLengthThatIsCutIsNotWhole(_ fault: FrameServer.Fault) async throws {
    let server = try FrameServer(fault)
    let session = session(server)
    _ = try await post(server, session)

    let error = await failure(server, session)

    #expect(error?.kind == .connectionLost)
    #expect(error?.phase == .receiving)
  }

  @Test(arguments: [FrameServer.Fault.graceful, .whole])
  func aResponseWithoutLengthThatEndsIsWhole(_ fault: FrameServer.Fault) async throws {
    let server = try FrameServer(fault)
    let session = session(server)
    _ = try await post(server, session)

    #expect(try await post(server, session) == "whole")
    #expect(try await post(server, session) == "3")
  }

  @Test(arguments: [true, false])
  func aResponseWithoutLengthIsWholeWhereConnectionsAreNotReused(tls: Bool) async throws {
    let server = try FrameServer(.noLength, tls: tls)
    let session = session(server, tls ? .automatic : .http2PriorKnowledge) { $0.idleLifetime = .zero }
    for number in 1...3 { #expect(try await post(server, session) == "\(number)") }
  }

  /// With one connection allowed, each request takes the place of the connection that the one before has just left.
  @Test func aResponseWithoutLengthIsWholeWhoeverTakesItsConnectionsPlace() async throws {
    let server = try FrameServer(.noLength, tls: false)
    let session = session(server, .http2PriorKnowledge) { $0.connectionsPerHost = 1 }
    await withTaskGroup(of: HTTPError?.self) { group in
      for _ in 0..<100 { group.addTask { await failure(server, session) } }
      for await error in group { #expect(error == nil) }
    }
  }

  @Test func aHeadThatIsTooLargeSaysSo() async throws {
    let server = try FrameServer(.largeHead)
    let session = session(server)
    _ = try await post(server, session)

    let error = await failure(server, session)
    #expect(error?.kind == .headersTooLarge, "\(String(describing: error))")
  }

  @Test func assumedHTTP2ServesOnePostAfterAnother() async throws {
    let server = try FrameServer(.none, tls: false)
    let session = session(server, .http2PriorKnowledge)
    for number in 1...20 { #expect(try await post(server, session) == "\(number)") }
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 { group.addTask { (try? await self.post(server, session)) != nil } }
      for await isDone in group { #expect(isDone) }
    }
  }

  @Test func assumedHTTP2IsNoHTTP1() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    var curl = CurlConfiguration()
    curl.versions = .http2PriorKnowledge
    let session = HTTPSession.uncached(CurlTransport(curl))
    await #expect(throws: HTTPError.self) { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
  }
}
