import MartletTasks
import MartletTasksTesting
import MartletTesting
import Testing

@Suite("Chainable requests") struct RequestTests {
  private let environment = NetworkEnvironment(baseURL: URL(string: "https://shop.test/v1"))

  private func url(_ request: NetworkRequest, at base: String = "https://shop.test/v1") throws -> String {
    try request.rendered(in: NetworkEnvironment(baseURL: URL(string: base))).url.absoluteString
  }

  @Test func requestIsAGETToTheEnvironmentsHost() throws {
    let request = try NetworkRequest().rendered(in: environment)
    #expect(request.method == .get)
    #expect(request.url.absoluteString == "https://shop.test/v1")
  }

  @Test(arguments: [
    ("https://shop.test", ["shop"], "https://shop.test/shop"),
    ("https://shop.test/", ["/shop"], "https://shop.test/shop"),
    ("https://shop.test/v1", ["shop"], "https://shop.test/v1/shop"),
    ("https://shop.test/v1/", ["/shop"], "https://shop.test/v1/shop"),
    ("https://shop.test/v1/", ["/shop/"], "https://shop.test/v1/shop/"),
    ("https://shop.test/v1", ["a", "b"], "https://shop.test/v1/a/b"),
    ("https://shop.test/v1", ["a/", "/b"], "https://shop.test/v1/a/b"),
    ("https://shop.test/v1", ["a//b"], "https://shop.test/v1/a/b"),
    ("https://shop.test/v1", ["a", ""], "https://shop.test/v1/a"),
    ("https://shop.test/v1", ["a", "/"], "https://shop.test/v1/a/"),
    ("https://shop.test/v1", [""], "https://shop.test/v1"),
    ("https://shop.test/v1", ["caf\u{e9} 50%?#"], "https://shop.test/v1/caf%C3%A9%2050%25%3F%23"),
    ("https://shop.test/caf%C3%A9", ["x"], "https://shop.test/caf%C3%A9/x"),
  ])
  func piecesOfPathsJoinWithOneSlash(base: String, pieces: [String], expected: String) throws {
    let request = pieces.reduce(NetworkRequest()) { $0.path($1) }
    #expect(try url(request, at: base) == expected)
  }

  @Test func slashInAPathComponentIsData() throws {
    #expect(
      try url(NetworkRequest().path("items").pathComponent("a/b").pathComponent(7))
        == "https://shop.test/v1/items/a%2Fb/7")
  }

  @Test(arguments: [
    (NetworkRequest().pathComponent(".."), "'..'"), (NetworkRequest().pathComponent(""), "''"),
    (NetworkRequest().path("users/../admin"), "'users/../admin'"),
    (NetworkRequest().header(name: "bad name", value: "x"), "bad name"),
    (NetworkRequest().body(["number": Double.nan]), "number"),
    (NetworkRequest(url: URL(filePath: "/etc")), "has no host"),
  ])
  func badValueIsAnErrorThatNamesIt(request: NetworkRequest, name: String) async {
    let task: NetworkTask<Void> = request.path("more").task(session: makeMock())
    let error = await task.execute().error as? HTTPError
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains(name) == true)
  }

  @Test func missingFileIsAnErrorThatNamesIt() async {
    let upload = NetworkRequest(method: .PUT).body(file: URL(filePath: "/nowhere/sunset.jpg")).task(session: makeMock())
    let error = await upload.execute().error as? HTTPError
    #expect(error?.kind == .file)
    #expect(error?.message.contains("/nowhere/sunset.jpg") == true)
  }

  @Test func controlCharacterInAHeaderIsAnErrorAtExecution() async {
    let mock = makeMock()
    let task: NetworkTask<Void> = NetworkRequest().header("X-Tag", "a\r\nb").task(session: mock)
    #expect((await task.execute().error as? HTTPError)?.message.contains("X-Tag") == true)
    #expect(mock.requests.isEmpty)
  }

  @Test func withoutAnEnvironmentTheErrorNamesTheRemedy() {
    let error = #expect(throws: HTTPError.self) { try NetworkRequest().rendered(in: NetworkEnvironment()) }
    #expect(error?.message.contains("environment") == true)
  }

  @Test func queryItemsAreEncodedAndKeepTheirOrder() throws {
    let missing: Int? = nil
    let request = NetworkRequest().path("s").queryItem(name: "flag", value: true).queryItem(name: "n", value: 1.5)
      .queryItem(name: "q", value: "a b&c=d+e").queryItem(name: "none", value: missing)
      .queryItem(name: "tag", value: ["x", "\u{fc}"]).queryItem(name: "tag", value: "z").queryItem(name: "debug")
    #expect(
      try url(request)
        == "https://shop.test/v1/s?flag=true&n=1.5&q=a%20b%26c%3Dd%2Be&tag=x&tag=%C3%BC&tag=z&debug")
  }

  @Test func queryOfTheBaseURLStays() throws {
    let request = NetworkRequest().path("s").queryItem(name: "b", value: 2)
    #expect(try url(request, at: "https://shop.test/v1?a=%2F1#part") == "https://shop.test/v1/s?a=%2F1&b=2")
  }

  @Test func modifiersMayComeInAnyOrder() throws {
    let modifiers: [(NetworkRequest) -> NetworkRequest] = [
      { $0.method(.post) }, { $0.path("cart") }, { $0.queryItem(name: "a", value: 1) }, { $0.header("X-Tag", "t") },
      { $0.body(Shop(title: "Shoes")) }, { $0.timeout(.seconds(3)) }, { $0.cachePolicy(.reloadIgnoringCacheData) },
    ]
    let requests = try [modifiers, modifiers.reversed()].map { modifiers in
      try modifiers.reduce(NetworkRequest()) { $1($0) }.rendered(in: environment)
    }
    for request in requests {
      #expect(request.method == .post)
      #expect(request.url.absoluteString == "https://shop.test/v1/cart?a=1")
      #expect(request.fields["X-Tag"] == "t")
      #expect(request.body.bytes == Data(#"{"title":"Shoes"}"#.utf8))
      #expect(request.options.deadline == .seconds(3))
      #expect(request.options.cachePolicy == .reloadIgnoringCacheData)
    }
  }

  @Test func requestIsAValue() throws {
    let base = NetworkRequest().path("a")
    let longer = base.path("b")
    #expect(try url(base) == "https://shop.test/v1/a")
    #expect(try url(longer) == "https://shop.test/v1/a/b")
  }

  @Test func descriptionShowsNoSecret() {
    let request = NetworkRequest(method: .POST).path("a").queryItem(name: "token", value: "secret")
      .header("X-Key", "secret").body(["a": "secret"])
    #expect("\(request)" == "POST /a")
    #expect(!String(reflecting: request).contains("secret"))
  }

  @Test func bodiesSayWhatTheyAre() async throws {
    let mock = makeMock()
    mock["", method: .POST] = .response()
    var form = MultipartForm()
    form.append("Sunset", for: "title")
    let folder = try TemporaryFolder()
    let file = try folder.write(Data("from a file".utf8), to: "body.txt")
    let request = NetworkRequest(method: .POST)

    for request in [
      request.body(Shop(title: "A")), request.body(form: [("a", "b c")]), request.body(multipart: form),
      request.body(file: file, type: "text/plain"), request.body(data: Data([1])),
    ] { try await request.task(session: mock).value() }

    let types = mock.requests.map { $0.fields[.contentType]?.prefix { $0 != ";" } }
    #expect(
      types == ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain", nil])
    let bodies = mock.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies[0] == #"{"title":"A"}"#)
    #expect(bodies[1] == "a=b+c")
    #expect(bodies[2].contains("Sunset"))
    #expect(bodies[3] == "from a file")
  }
}
