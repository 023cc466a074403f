import MartletTasks
import MartletTasksTesting
import MartletTesting
import Synchronization
import Testing

/// Tasks and the ways to run them.
@Suite(.timeLimit(.minutes(5))) struct TaskTests {
  private let mock = makeMock()

  private func shop() -> NetworkTask<Shop> { NetworkRequest().path("/shop").task(session: mock) }

  @Test("Nothing happens before execution, and each execution asks anew")
  func nothingHappensBeforeExecutionAndEachExecutionAsksAnew() async throws {
    mock["shop"] = .response(json: shopJSON)
    let task = shop()
    #expect(mock.requests.isEmpty)

    _ = try await task.value()
    _ = try await task.value()

    #expect(mock.requests.count == 2)
  }

  @Test("A task may run anywhere") func taskMayRunAnywhere() async throws {
    mock["shop"] = .response(json: shopJSON)
    let task = shop()
    #expect(try await Task.detached { try await task.value() }.value.title == "Shoes")
  }

  @Test("All ways to run give the same") func allWaysToRunGiveTheSame() async throws {
    mock["shop"] = .response(json: shopJSON, status: 201)
    let expected = Shop(title: "Shoes")

    #expect(try await shop().value() == expected)
    #expect(await shop().execute().statusCode == 201)
    #expect(await withCheckedContinuation { done in shop().execute { done.resume(returning: $0.statusCode) } } == 201)
    #expect(try await withCheckedThrowingContinuation { done in shop().value { done.resume(with: $0) } } == expected)
    #expect(try await first(of: shop().valueProvider()).get() == expected)
    #expect(try await first(of: shop().executePublisher()).get().statusCode == 201)
    #expect(mock.requests.count == 6)
  }

  @Test("All ways to run fail with the same") func allWaysToRunFailWithTheSame() async throws {
    mock["shop"] = .response(json: #"{"message": "closed"}"#, status: 503)
    let isClosed = { @Sendable (error: (any Error)?) in
      if case NetworkError.service(let message)? = error { message.text == "closed" } else { false }
    }

    #expect(isClosed(await shop().execute().error))
    #expect(isClosed(await #expect(throws: NetworkError.self) { try await shop().value() }))
    #expect(await withCheckedContinuation { done in shop().execute { done.resume(returning: isClosed($0.error)) } })
    let result: Result<Shop, any Error> = await withCheckedContinuation { done in
      shop().value { done.resume(returning: $0) }
    }
    #expect(throws: NetworkError.self) { try result.get() }
    await #expect(throws: NetworkError.self) { try await first(of: shop().valueProvider()).get() }
    #expect(isClosed(try await first(of: shop().executePublisher()).get().error))
  }

  @Test("The full response has status, fields and bytes") func responseHasStatusFieldsAndBytes() async throws {
    mock["shop"] = .response(json: shopJSON, status: 203, headers: ["X-Total": "7"])

    let response = await shop().execute()

    #expect(response.statusCode == 203)
    #expect(response.fields["X-Total"] == "7")
    #expect(response.data == Data(shopJSON.utf8))
    #expect(try response.value.title == "Shoes")
    #expect(response.error == nil)
  }

  @Test("`value()` returns the value, or throws the failure") func valueIsTheValueOrThrowsTheFailure() async throws {
    mock["shop"] = .sequence(.response(json: shopJSON), .error(HTTPError(.connectionLost, "gone")))
    #expect(try await shop().value().title == "Shoes")
    #expect(await #expect(throws: HTTPError.self) { try await shop().value() }?.kind == .connectionLost)
  }

  @Test("No content is nil for an optional, and nothing for Void")
  func noContentIsNilForAnOptionalAndNothingForVoid() async throws {
    mock["shop"] = .response(status: 204)
    let optional: NetworkTask<Shop?> = NetworkRequest().path("shop").task(session: mock)
    let bytes: NetworkTask<Data?> = NetworkRequest().path("shop").task(session: mock)
    #expect(try await bytes.value() == nil)
    let void: NetworkTask<Void> = NetworkRequest().path("shop").task(session: mock)

    #expect(try await optional.value() == nil)
    try await void.value()
    let error = await #expect(throws: HTTPError.self) { try await shop().value() }
    #expect(error?.message.contains("no body to decode Shop from: expect an optional") == true)
    #expect(await shop().execute().statusCode == 204)
  }

  @Test func voidTaskReadsAnySuccessAndFailsOnAFailure() async throws {
    mock["shop"] = .sequence(.response(data: Data("<html>".utf8)), .response(status: 500))
    let task = NetworkRequest().path("shop").task(session: mock)

    try await task.value()
    await #expect(throws: NetworkError.self) { try await task.value() }
  }

  @Test func dataIsTheBodyAsItCame() async throws {
    mock["shop"] = .response(data: Data([0, 1, 2]))
    #expect(
      try await NetworkRequest().path("shop").task(expecting: Data.self, session: mock).value() == Data([0, 1, 2]))
  }

  @Test("Mapping keeps the original status, and may throw") func mappingKeepsTheOriginalStatusAndMayThrow()
    async throws
  {
    mock["shop"] = .response(json: shopJSON, status: 201)
    let length = NetworkRequest().path("shop").task(expecting: Shop.self, session: mock) { $0.title.count }
    let nothing = NetworkRequest().path("shop").task(expecting: Shop.self, session: mock) { (_: Shop) -> String in
      throw NetworkError.unknown
    }

    #expect(try await length.value() == 5)
    #expect(await length.execute().statusCode == 201)
    #expect(await nothing.execute().error as? NetworkError == .unknown)
    #expect(await nothing.execute().statusCode == 201)
    #expect(try await length.map { $0 * 2 }.value() == 10)
  }

  @Test("Another type reads the same body") func anotherTypeReadsTheSameBody() async throws {
    struct Item: Decodable, Sendable { var id: Int }
    mock["shop"] = .response(json: #"{"id": 7}"#, status: 201)

    #expect(await shop().execute().error is DecodingError)
    let other = await shop().map(\.title).decode(expecting: Item.self).execute()

    #expect(try other.value.id == 7)
    #expect(other.statusCode == 201)
    #expect(other.data == Data(#"{"id": 7}"#.utf8))
  }

  @Test func retryRunsAgainAtMostSoManyTimes() async throws {
    mock["shop"] = .sequence(
      .response(status: 503), .error(HTTPError(.connectionLost, "gone")), .response(json: shopJSON))

    #expect(try await shop().retry(2).value().title == "Shoes")
    #expect(mock.requests.count == 3)

    mock["shop"] = .response(status: 503)
    #expect(await shop().retry(2).execute().statusCode == 503)
    #expect(mock.requests.count == 6)
    #expect(await shop().retry(1).decode(expecting: Shop?.self).execute().statusCode == 503)
    #expect(mock.requests.count == 8)
  }

  @Test func catchRunsAnotherTask() async throws {
    mock["shop"] = .response(status: 404)
    mock["spare"] = .response(json: #"{"title": "Spare"}"#)
    let spare: NetworkTask<Shop> = NetworkRequest().path("spare").task(session: mock)

    #expect(try await shop().catch { _ in spare }.value().title == "Spare")
    #expect(await shop().catch { _ in spare }.decode(expecting: Shop?.self).execute().statusCode == 404)
  }

  @Test func timeoutEndsATaskThatTakesLonger() async throws {
    mock["shop"] = .response(json: shopJSON).delayed(by: .seconds(100))

    let error = await shop().timeout(.milliseconds(20)).execute().error as? HTTPError
    #expect(error?.kind == .deadlineExceeded)
    let other = shop().timeout(.milliseconds(20)).decode(expecting: Shop?.self)
    #expect((await other.execute().error as? HTTPError)?.kind == .deadlineExceeded)

    mock["shop"] = .response(json: shopJSON)
    #expect(try await shop().timeout(.seconds(50)).value().title == "Shoes")
  }

  @Test func requestsTimeoutEndsItsCall() async {
    mock["shop"] = .response().delayed(by: .seconds(100))
    let task: NetworkTask<Shop> = NetworkRequest().path("shop").timeout(.milliseconds(20)).task(session: mock)
    #expect((await task.execute().error as? HTTPError)?.kind == .deadlineExceeded)
  }

  @Test func taskOfNoSessionRunsOnTheContainers() async throws {
    mock["shop"] = .response(json: shopJSON)
    let task: NetworkTask<Shop> = NetworkRequest().path("/shop").task()
    try await Container.withOverrides { [mock] in
      $0.networkSession = .single { mock }
    } perform: {
      let shop = try await task.value()
      #expect(shop.title == "Shoes")
    }
  }
}

/// The first output of a publisher.
func first<P: Publisher>(of publisher: P) async -> Result<P.Output, any Error> where P.Output: Sendable {
  let kept = Mutex<AnyCancellable?>(nil)
  return await withCheckedContinuation { done in
    let cancellable = publisher.first().sink { completion in
      if case .failure(let error) = completion { done.resume(returning: .failure(error)) }
    } receiveValue: {
      done.resume(returning: .success($0))
    }
    kept.withLock { $0 = cancellable }
  }
}
