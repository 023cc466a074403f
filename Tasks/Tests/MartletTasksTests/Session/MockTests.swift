import Foundation
import MartletTasks
import MartletTesting
import Testing

import MartletTasksTesting

@Suite("The session of tests", .timeLimit(.minutes(5))) struct MockTests {
  private let mock = makeMock()

  /// The source of an answer: each mock returns its name.
  private func answer(to request: NetworkRequest) async throws -> String {
    try await request.task(expecting: String.self, session: mock).value()
  }

  private func name(_ text: String) -> MockResponder { .response(encoding: text) }

  @Test func longestKeyAnswersInWhateverOrderTheyWereSet() async throws {
    let keys = ["category", "category/some-title", "egory", "", "other/category/some-title/long"]
    for keys in [keys, keys.reversed(), keys.sorted()] {
      mock.reset()
      for key in keys { mock[key] = name(key) }
      #expect(try await answer(to: NetworkRequest().path("category/some-title")) == "category/some-title")
      #expect(try await answer(to: NetworkRequest().path("category/else")) == "category")
      #expect(try await answer(to: NetworkRequest().path("cart")) == "")
    }
  }

  @Test func methodQueryAndBodyAreConditions() async throws {
    mock["cart"] = name("any")
    mock["cart", method: .POST] = name("post")
    mock["cart", query: ["gift": "true"]] = name("gift")
    mock["cart", method: .POST, body: "shoes"] = name("shoes")
    let cart = NetworkRequest().path("cart")

    #expect(try await answer(to: cart) == "any")
    #expect(try await answer(to: cart.method(.POST)) == "post")
    #expect(try await answer(to: cart.queryItem(name: "gift", value: true).queryItem(name: "a", value: 1)) == "gift")
    #expect(try await answer(to: cart.queryItem(name: "gift", value: false)) == "any")
    #expect(try await answer(to: cart.method(.POST).body(["product": "shoes"])) == "shoes")
    #expect(try await answer(to: cart.method(.POST).body(["product": "hat"])) == "post")
  }

  @Test func pathMatchesEncodedOrNot() async throws {
    mock["caf\u{e9}"] = name("name")
    #expect(try await answer(to: NetworkRequest().path("caf\u{e9}/menu")) == "name")
    mock["caf%C3%A9/m"] = name("code")
    #expect(try await answer(to: NetworkRequest().path("caf\u{e9}/menu")) == "code")
  }

  @Test func unmatchedRequestIsAFileNotFoundThatListsTheKeys() async throws {
    mock["cart", method: .POST, query: ["gift": "true"]] = .response()
    mock["category"] = .response()

    let error = await #expect(throws: HTTPError.self) { try await answer(to: NetworkRequest().path("shop")) }

    #expect(error?.kind == .file)
    #expect(
      error?.message
        == "file not found: no mock for GET /v1/shop; there are mocks for POST 'cart' ?gift=true, 'category'")
    mock.reset()
    let second = await #expect(throws: HTTPError.self) { try await answer(to: NetworkRequest().path("shop")) }
    #expect(second?.message.hasSuffix("there are no mocks") == true)
  }

  @Test func JSONComesFromABundle() async throws {
    struct Category: Decodable, Sendable { var title: String }
    final class BundleMarker {}
    mock["category"] = .response(from: .module, json: "Category", status: 203)
    let task: NetworkTask<Category> = NetworkRequest().path("category").task(session: mock)

    #expect(try await task.value().title == "Shoes")
    #expect(await task.execute().statusCode == 203)
    mock["category"] = .response(from: .init(for: BundleMarker.self), json: "Category")
    #expect(try await task.value().title == "Shoes")
  }

  @Test func missingFileIsAnErrorThatNamesIt() async throws {
    mock["category"] = .response(from: .module, json: "Nowhere")
    let error = await #expect(throws: HTTPError.self) { try await answer(to: NetworkRequest().path("category")) }
    #expect(error?.kind == .file)
    #expect(error?.message.contains("file not found: no Nowhere.json") == true)
  }

  @Test func errorSequenceAndClosureAnswer() async throws {
    struct Broken: Error {}
    mock["a"] = .sequence(.error(Broken()), name("second"), name("last"))
    #expect(
      (await #expect(throws: HTTPError.self) { try await answer(to: NetworkRequest().path("a")) })?.underlying is Broken
    )
    #expect(try await answer(to: NetworkRequest().path("a")) == "second")
    #expect(try await answer(to: NetworkRequest().path("a")) == "last")
    #expect(try await answer(to: NetworkRequest().path("a")) == "last")

    mock["b"] = .closure { .response(encoding: $0.method.rawValue, headers: ["X-Length": "\($0.body.count)"]) }
    let response = await NetworkRequest(method: .PUT).path("b").body(data: Data(count: 3))
      .task(expecting: String.self, session: mock).execute()
    #expect(try response.value == "PUT")
    #expect(response.fields["X-Length"] == "3")
  }

  @Test func itKnowsWhatWasAsked() async throws {
    mock["cart"] = .response()
    mock["never"] = .response()
    try await NetworkRequest(method: .POST).path("cart").body(Shop(title: "A")).task(session: mock).value()
    try await NetworkRequest().path("cart").task(session: mock).value()

    #expect(mock.requests.map(\.method) == [.post, .get])
    #expect(try mock.requests(to: "cart", method: .POST).first?.body(as: Shop.self) == Shop(title: "A"))
    #expect(mock.unused == ["'never'"])
    mock["never"] = nil
    #expect(mock.unused.isEmpty)
    #expect(mock["never"] == nil)
  }

  @Test func mocksAreADictionaryByPath() async throws {
    mock["cart", method: .POST] = name("post")
    mock.mocks = ["category": name("a"), "cart": name("b")]
    #expect(mock.mocks.keys.sorted() == ["cart", "category"])
    #expect(try await answer(to: NetworkRequest().path("category/x")) == "a")
    #expect(try await answer(to: NetworkRequest(method: .POST).path("cart")) == "post")

    mock.mocks["category/x"] = name("c")
    mock.mocks["cart"] = nil

    #expect(try await answer(to: NetworkRequest().path("category/x")) == "c")
    #expect(mock["cart"] == nil && mock["cart", method: .POST] != nil)
    mock.mocks.removeAll()
    #expect(mock.mocks.isEmpty && mock["category"] == nil)
  }

  @Test func answerThatStaysInTheDictionaryGoesOnInItsSequence() async throws {
    mock.mocks = ["a": .sequence(name("1"), name("2"), name("3"))]
    #expect(try await answer(to: NetworkRequest().path("a")) == "1")
    mock.mocks["b"] = name("b")
    #expect(try await answer(to: NetworkRequest().path("a")) == "2")
    mock.mocks["a"] = .sequence(name("new"))
    #expect(try await answer(to: NetworkRequest().path("a")) == "new")
  }

  @Test func itStandsWhereverTheSessionDoes() async throws {
    struct Client {
      let session: PoqNetworkSession
      func shop() -> NetworkTask<Shop> { NetworkRequest().path("shop").task(session: session) }
    }
    mock["shop"] = .response(json: shopJSON)
    #expect(try await Client(session: mock).shop().value().title == "Shoes")
    let session: StandardNetworkSession = MockSession.shared
    #expect(session is MockSession)
  }

  @Test func withoutAnEnvironmentPathsBeginAtAHostThatIsNone() async throws {
    let mock = MockSession(environment: { NetworkEnvironment() }, authenticator: { nil })
    mock["shop"] = .response(json: shopJSON)
    let task: NetworkTask<Shop> = NetworkRequest().path("shop").task(session: mock)
    #expect(try await task.value().title == "Shoes")
    #expect(mock.requests.first?.url.absoluteString == "https://mock.invalid/shop")
  }
}
