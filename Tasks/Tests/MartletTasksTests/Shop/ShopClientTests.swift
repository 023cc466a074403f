import MartletTasks
import MartletTasksTesting
import Testing

/// The example's client, tested like in an app.
@Suite(.timeLimit(.minutes(5))) struct ShopClientTests {
  private let mock = MockSession()
  private let account = ShopAccount()

  /// Runs a test on a mock and a separate account.
  private func inShop(_ test: () async throws -> Void) async throws {
    try await Container.withOverrides {
      $0.networkSession = .single { [mock] in mock }
      $0.authenticator = .single { [account] in account }
      $0.environment = .single {
        NetworkEnvironment(baseURL: URL(string: "https://shop.test"), headers: ["X-App": "Shop/1.0"])
      }
    } perform: {
      try await test()
    }
  }

  @Test func categoriesAreSearched() async throws {
    try await inShop {
      mock["categories"] = .response(json: #"{"categories": [{"id": "1", "title": "Shoes"}]}"#)

      let found = try await ShopCatalogue().categories(matching: "red shoes", tags: ["new", "sale"]).value()

      #expect(found.map(\.title) == ["Shoes"])
      #expect(mock.requests.first?.url.query(percentEncoded: true) == "q=red%20shoes&tag=new&tag=sale")
      #expect(mock.requests.first?.fields["X-App"] == "Shop/1.0")
    }
  }

  @Test func pageWithoutCategoriesIsAnError() async throws {
    try await inShop {
      mock["categories"] = .response(json: "{}")
      #expect(await ShopCatalogue().categories().execute().error as? NetworkError == .unknown)
    }
  }

  @Test func categorysNameMayHoldASlash() async throws {
    try await inShop {
      mock["categories/a%2Fb"] = .response(encoding: ShopCategory(id: "a/b", title: "Both"))
      let category = try await ShopCatalogue().category("a/b").value()
      #expect(category.title == "Both")
    }
  }

  @Test func emptyCartIsNil() async throws {
    try await inShop {
      mock["cart"] = .response(status: 204)
      let cart = try await ShopCartService().cart().value()
      #expect(cart == nil)
    }
  }

  @Test func itemsAreAddedAndRemoved() async throws {
    try await inShop {
      let item = ShopCart.Item(product: "shoe", quantity: 2)
      mock["cart/items", method: .POST] = .response(encoding: ShopCart(items: [item]), status: 201)
      mock["cart/items/shoe", method: .DELETE] = .response(status: 204)

      #expect(try await ShopCartService().add(item, asGift: true).value().items == [item])
      try await ShopCartService().remove("shoe").value()

      let added = try #require(mock.requests(to: "cart", method: .POST).first)
      #expect(try added.body(as: ShopCart.Item.self) == item)
      #expect(added.url.query() == "gift=true")
      #expect(mock.unused.isEmpty)
    }
  }

  private func logIn() async throws {
    mock["login"] = .response(json: #"{"access": "a1", "refresh": "r1"}"#)
    try await account.logIn("anna", password: "secret")
  }

  @Test func tokenOfALoginIsSent() async throws {
    try await inShop {
      mock["cart"] = .response(status: 204)
      try await logIn()

      _ = try await ShopCartService().cart().value()

      #expect(mock.requests(to: "login").first?.body == Data("user=anna&password=secret".utf8))
      #expect(mock.requests(to: "cart").map { $0.fields[.authorization] } == ["Bearer a1"])
    }
  }

  @Test func wrongPasswordIsTheShopsMessage() async throws {
    try await inShop {
      mock["login"] = .response(json: #"{"message": "wrong password"}"#, status: 401)
      let error = await #expect(throws: NetworkError.self) { try await account.logIn("anna", password: "?") }
      #expect(error?.description == "wrong password (401)")
      #expect(mock.requests.count == 1)
    }
  }

  @Test func expiredTokenIsRenewed() async throws {
    try await inShop {
      mock["refresh-token", body: "r1"] = .response(json: #"{"access": "a2", "refresh": "r2"}"#)
      mock["cart"] = .closure { .response(status: $0.fields[.authorization] == "Bearer a2" ? 204 : 401) }
      try await logIn()

      #expect(try await ShopCartService().cart().value() == nil)
      #expect(await account.tokens == ShopAccount.Tokens(access: "a2", refresh: "r2"))
    }
  }

  @Test func refusedRenewalLogsOutInSilence() async throws {
    try await inShop {
      mock["refresh-token"] = .response(status: 401)
      mock["cart"] = .response(json: #"{"message": "log in first"}"#, status: 401)
      try await logIn()

      let response = await ShopCartService().cart().execute()

      #expect(response.error as? NetworkError != nil)
      #expect(response.statusCode == 401)
      #expect(await account.tokens == nil)
    }
  }

  @Test func logoutHoldsWhateverTheShopSays() async throws {
    try await inShop {
      mock["logout"] = .response(status: 500)
      try await logIn()
      await account.logOut()
      #expect(await account.tokens == nil)
      #expect(mock.requests(to: "logout").first?.fields[.authorization] == "Bearer a1")
    }
  }
}
