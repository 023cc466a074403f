import MartletTasks
import MartletTasksTesting
import Testing

/// The call shapes of code for tasks, on the container's session, which is the shared mock.
@Suite(.timeLimit(.minutes(5))) struct DocumentedShapeTests {
  init() { MockSession.install() }

  struct CategoryTree: Codable, Hashable, Sendable {
    var category: String?
  }

  struct Lenient: NetworkResponseDecoder {
    func decode<Value: Decodable & Sendable>(
      _ type: Value.Type, from response: HTTPResponse, data: Data
    ) throws -> Value {
      try JSONDecoder().decode(type, from: data)
    }
  }

  private func tree() -> NetworkTask<CategoryTree> { NetworkRequest().path("/documented-shapes").task() }

  private func category() -> NetworkTask<String> {
    NetworkRequest(method: .POST).path("/documented-shapes").queryItem(name: "flag", value: true)
      .body(CategoryTree(category: "a"))
      .task(expecting: CategoryTree.self) { try $0.category ?? { throw NetworkError.unknown }() }
  }

  @Test func theyCompileAndWork() async throws {
    MockSession.shared["documented-shapes"] = .response(from: .module, json: "Tree")
    defer { MockSession.shared["documented-shapes"] = nil }

    let response = await tree().execute()
    #expect(response.statusCode == 200)
    #expect(try await tree().value().category == "Shoes")
    #expect(try await category().value() == "Shoes")
    #expect(try await tree().decode(expecting: CategoryTree?.self).value()?.category == "Shoes")
    #expect(try await tree().decode(expecting: [String: String].self, decoder: Lenient()).value().count == 1)
    let lenient: NetworkTask<CategoryTree> = NetworkRequest().path("/documented-shapes").task(decoder: Lenient())
    #expect(try await lenient.value().category == "Shoes")
    let received: String? = await withCheckedContinuation { done in
      tree().value { result in done.resume(returning: try? result.get().category) }
    }
    #expect(received == "Shoes")
    #expect(try await first(of: tree().valueProvider()).get().category == "Shoes")
    #expect(Container.shared.networkSession() is MockSession)
    #expect(Container.shared.authenticator() == nil)
  }

  @Test func documentedNamesAreTheseTypes() async {
    await Container.withOverrides {
      $0.networkSession = .single { PoqNetworkSession(decoder: Lenient()) }
      $0.authenticator = .single { PoqAuthenticator() }
    } perform: {
      #expect(Container.shared.networkSession().decoder is Lenient)
      #expect(Container.shared.authenticator() is PassiveAuthenticator)
    }
    #expect(PoqMessage.self == ServiceMessage.self)
    #expect(PoqAccountAuthenticator.self == AccountAuthenticator.self)
  }

  @Test func mockOfTheSharedSessionAnswers() async throws {
    MockSession.shared["categories", query: ["tag": "new"]] = .response(from: .module, json: "Categories")
    defer { MockSession.shared["categories", query: ["tag": "new"]] = nil }
    let new: NetworkTask<[CategoryTree]> = NetworkRequest().path("/categories").queryItem(name: "tag", value: ["new"])
      .task()
    #expect(try await new.value().map(\.category) == ["Shoes"])
  }

  @Test func sessionOfTheContainerCanBeDecorated() async throws {
    struct Logged: NetworkSession {
      let base: any NetworkSession
      let count: Counter
      var decoder: any NetworkResponseDecoder { base.decoder }

      func response(to request: NetworkRequest) async -> NetworkResponse<Data> {
        count.next()
        return await base.response(to: request)
      }
    }
    let (count, mock) = (Counter(), makeMock())
    mock["shop"] = .response(json: shopJSON)
    try await Container.withOverrides {
      $0.networkSession = .single { mock }
      $0.networkSession.decorate { Logged(base: $0, count: count) }
    } perform: {
      let shop = try await NetworkRequest().path("shop").task(expecting: Shop.self).value()
      #expect(shop.title == "Shoes")
    }
    #expect(count.value == 1)
  }
}
