// A shop's API in tasks: categories, a cart, and an account that logs in, renews its token and logs out.

import MartletTasks

struct ShopCategory: Codable, Hashable, Sendable {
  var id: String
  var title: String
}

struct ShopCart: Codable, Hashable, Sendable {
  struct Item: Codable, Hashable, Sendable {
    var product: String
    var quantity: Int
  }

  var items: [Item]
}

struct ShopCatalogue: Sendable {
  private struct Page: Decodable, Sendable {
    var categories: [ShopCategory]?
  }

  func categories(matching text: String? = nil, tags: [String] = []) -> NetworkTask<[ShopCategory]> {
    NetworkRequest().path("/categories").queryItem(name: "q", value: text).queryItem(name: "tag", value: tags)
      .task(expecting: Page.self) { try $0.categories ?? { throw NetworkError.unknown }() }
  }

  func category(_ id: String) -> NetworkTask<ShopCategory> {
    NetworkRequest().path("/categories").pathComponent(id).task()
  }
}

struct ShopCartService: Sendable {
  /// nil until something was put into it: then the shop responds with no content.
  func cart() -> NetworkTask<ShopCart?> { NetworkRequest().path("/cart").task() }

  func add(_ item: ShopCart.Item, asGift: Bool = false) -> NetworkTask<ShopCart> {
    NetworkRequest(method: .POST).path("/cart/items").queryItem(name: "gift", value: asGift).body(item).task()
  }

  func remove(_ product: String) -> NetworkTask<Void> {
    NetworkRequest(method: .DELETE).path("/cart/items").pathComponent(product).task()
  }
}

actor ShopAccount: Authenticator {
  struct Tokens: Codable, Hashable, Sendable {
    var access: String
    var refresh: String
  }

  private(set) var tokens: Tokens?

  func logIn(_ user: String, password: String) async throws {
    let login = NetworkRequest(method: .POST).path("/account/login").unauthenticated()
    tokens = try await login.body(form: [("user", user), ("password", password)]).task().value()
  }

  /// The user is logged out here, whatever the shop answers.
  func logOut() async {
    _ = await NetworkRequest(method: .POST).path("/account/logout").task().execute()
    tokens = nil
  }

  func authorize(request: HTTPRequest) -> HTTPRequest {
    var request = request
    if let tokens { request.fields[.authorization] = "Bearer \(tokens.access)" }
    return request
  }

  func authenticate() async throws {
    guard let old = tokens else { throw NetworkError.unauthenticated }
    let refresh = NetworkRequest(method: .POST).path("/account/refresh-token")
    let renewed: NetworkResponse<Tokens> = await refresh.body(["refresh": old.refresh]).task().execute()
    tokens = renewed.statusCode == 401 ? nil : try renewed.value
    if tokens == nil { throw NetworkError.unauthenticated }  // logged out in silence
  }
}

func setUpShop(at url: URL, account: ShopAccount) {
  Container.shared.environment = .single { NetworkEnvironment(baseURL: url, headers: ["X-App": "Shop/1.0"]) }
  Container.shared.authenticator = .single { account }
}
