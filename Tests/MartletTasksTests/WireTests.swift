import MartletTasks
import MartletTesting
import Testing

/// The same tasks over a real connection.
@Suite(.timeLimit(.minutes(1))) struct WireTests {
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

  @Test func hostThatIsNotThereFailsWithTheEnginesError() async throws {
    let url = try LoopbackServer { _ in .text("") }.url
    let session = StandardNetworkSession(environment: { NetworkEnvironment(baseURL: url) }, authenticator: { nil })
    let response = await NetworkRequest().task(session: session).execute()
    #expect((response.error as? HTTPError)?.isConnectionFailure == true)
    #expect(response.statusCode == nil)
  }
}
