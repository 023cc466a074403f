import MartletObservation
import MartletTasks
import MartletTasksTesting
import MartletTesting
import Testing

/// The same tasks over a real connection, and over a recorded one.
@Suite(.timeLimit(.minutes(5))) struct WireTests {
  @Test func taskOverTheWireDoesWhatItDoesOnAMock() async throws {
    let server = try LoopbackServer { request in
      request.target == "/v1/shop?open=true" && request.fields["X-App"] == "Shop"
        ? .json(shopJSON, status: 201) : .json(#"{"message": "what?"}"#, status: 404)
    }
    let environment = NetworkEnvironment(baseURL: server.url.appending(path: "v1/"), headers: ["X-App": "Shop"])
    let session = PoqNetworkSession(environment: { environment }, authenticator: { nil })
    let shop: NetworkTask<Shop> = NetworkRequest().path("/shop").queryItem(name: "open", value: true)
      .task(session: session)

    let response = await shop.execute()
    #expect(response.statusCode == 201)
    #expect(try response.value.title == "Shoes")
    let failed = await NetworkRequest().path("else").task(session: session).execute()
    #expect("\(try #require(failed.error))" == "what? (404)")
  }

  @Test func recordedServiceReplaysOfflineWithoutItsSecrets() async throws {
    let folder = try TemporaryFolder()
    let server = try LoopbackServer { _ in .json(shopJSON) }
    let environment = NetworkEnvironment(baseURL: server.url, headers: ["X-Api-Key": "hush"])
    let shop = { @Sendable (mode: Recording.Mode) async throws -> (Recording, NetworkTask<Shop>) in
      let recording = try Recording(file: folder.file("shop.har"), mode: mode, around: DefaultTransport())
      let session = StandardNetworkSession(
        environment: { environment }, authenticator: { nil }, configuration: .uncached, transport: recording)
      return (recording, NetworkRequest().path("shop").queryItem(name: "token", value: "hush").task(session: session))
    }

    let (recorder, recorded) = try await shop(.record)
    #expect(try await recorded.value().title == "Shoes")
    try recorder.save()
    server.stop()

    let (replay, replayed) = try await shop(.replay)
    #expect(try await replayed.value().title == "Shoes")
    #expect(replay.replay?.unused.isEmpty == true)
    let text = try String(contentsOf: folder.file("shop.har"), encoding: .utf8)
    #expect(!text.contains("hush"))
  }

  @Test func staleRecordingIsNamed() async throws {
    let entry = try HAR(
      json: Data(#"{"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": []}}"#.utf8))
    let environment = NetworkEnvironment(baseURL: URL(string: "https://shop.test"))
    let session = StandardNetworkSession(
      environment: { environment }, authenticator: { nil }, transport: ReplayTransport(entry, named: "shop.har"))
    let error = await NetworkRequest().path("shop").task(session: session).execute().error as? HTTPError
    #expect(error?.message.hasPrefix("shop.har, recorded at an unknown date, has no response for GET") == true)
    #expect(error?.message.contains("record again") == true)
  }

  @Test func hostThatIsNotThereFailsWithTheEnginesError() async throws {
    let url = try LoopbackServer { _ in .text("") }.url
    let session = StandardNetworkSession(environment: { NetworkEnvironment(baseURL: url) }, authenticator: { nil })
    let response = await NetworkRequest().task(session: session).execute()
    #expect((response.error as? HTTPError)?.isUnreachable == true)
    #expect(response.statusCode == nil)
  }
}

extension SessionConfiguration {
  fileprivate static var uncached: SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return configuration
  }
}
