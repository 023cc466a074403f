import Martlet
import MartletImages
import MartletTesting
import Testing

@Suite("Loads that fail", .timeLimit(.minutes(5)))
struct LoadFailureTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let kind: ImageLoadError.Kind
    /// A part of the expected message.
    let hint: String
    let reply: @Sendable () throws -> Reply

    init(
      _ description: String, _ kind: ImageLoadError.Kind, _ hint: String, reply: @escaping @Sendable () throws -> Reply
    ) {
      testDescription = description
      self.kind = kind
      self.hint = hint
      self.reply = reply
    }
  }

  private static let page =
    "<!DOCTYPE html>\n<html><title>Log\tin\u{202E}</title>" + String(repeating: " x", count: 200)

  static let cases = [
    Case("a login page", .notAnImage, "HTML") { .data(Data(page.utf8), type: "text/html; charset=utf-8") },
    Case("a login page that says it is a picture", .notAnImage, "HTML") { .data(Data(page.utf8), type: "image/jpeg") },
    Case("JSON", .notAnImage, "application/json") { .json("{}") },
    Case("a very short text", .notAnImage, "text") { .text("no") },
    Case("nothing", .empty, "no bytes") { .data(Data(), type: "image/jpeg") },
    Case("no content", .empty, "no bytes") { .status(.noContent) },
    Case("an SVG", .undecodable, "SVG") { .data(Data("<svg xmlns='…'></svg>".utf8), type: "image/svg+xml") },
    Case("a file that is cut off", .undecodable, "image/jpeg") {
      .data(try Fixture.data("coffee.jpg").prefix(9000), type: "image/jpeg")
    },
    Case("a picture of a million bytes that are announced", .tooLarge, "100000") {
      .data(Data(count: 1_000_000), type: "image/jpeg")
    },
    Case("a file without an end", .tooLarge, "100000") {
      .generated(type: "image/jpeg") { $0 == 0 ? Data([0xFF, 0xD8, 0xFF, 0xE0]) : Data(repeating: 0xFF, count: 9000) }
    },
    Case("a picture of a billion pixels", .tooLarge, "Limits.pixels") {
      .data(
        Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52])
          + Data([0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 8, 6, 0, 0, 0, 0, 0, 0, 0]), type: "image/png")
    },
    Case("a connection that breaks", .network, "") { try .picture("coffee.jpg").truncated(after: 9000) },
    Case("a client error", .status, "404") { .text("gone for lunch", status: .notFound) },
    Case("a server error", .status, "503") { .text("too much to do", status: .serviceUnavailable) },
    Case("a redirect without a place", .status, "304") { .status(.notModified) },
  ]

  @Test(arguments: cases)
  func contentThatIsNotAnImageIsAnErrorThatNamesIt(_ item: Case) async throws {
    let fixture = try LoadingFixture {
      $0.encodedBytesLimit = 100_000
    } respond: { _ in
      try item.reply()
    }

    let error = await #expect(throws: ImageLoadError.self) {
      try await fixture.loader.image(for: fixture.picture("/a.jpg?token=secret"))
    }

    #expect(error?.kind == item.kind)
    #expect(error?.message.contains(item.hint) == true, "\(error as Any)")
    #expect(error?.response != nil)
    #expect(error?.description.contains("/a.jpg") == true)
    #expect(error?.description.contains("secret") == false)
    #expect(error?.isRemembered == false)
    #expect(fixture.loader.configuration.cache?.count == 0)
  }

  @Test func textOfTheServerIsNotInTheMessage() async throws {
    let fixture = try LoadingFixture { request in
      request.path == "/status" ? .text("gone for lunch", status: .notFound) : .text(Self.page)
    }

    let status = await #expect(throws: ImageLoadError.self) {
      try await fixture.loader.image(for: fixture.picture("/status"))
    }
    let page = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: fixture.picture()) }

    #expect(status?.serverText == "gone for lunch")
    #expect(page?.excerpt?.hasPrefix("<!DOCTYPE html> <html><title>Log in\u{FFFD}</title> x x") == true)
    #expect(page?.excerpt?.count == 80)
    var shown = "\(status as Any)\(String(reflecting: page))"
    dump([status, page], to: &shown)
    #expect(!shown.contains("lunch") && !shown.contains("Log"))
  }

  @Test func redirectToALoginPageIsNamedInTheError() async throws {
    let fixture = try LoadingFixture { request in
      request.path == "/login" ? .data(Data(Self.page.utf8), type: "text/html") : .redirect(to: "/login?from=a")
    }

    let error = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: fixture.picture()) }

    #expect(error?.kind == .notAnImage)
    #expect(error?.message.contains("/login") == true)
    #expect(error?.url == fixture.server.url("/a.jpg"))
  }

  @Test func unreachableServerIsANetworkError() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    fixture.server.stop()

    let error = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: fixture.picture()) }

    #expect(error?.kind == .network)
    #expect(error?.httpError?.isUnreachable == true)
  }

  @Test func endlessErrorPageIsReadUpToALimit() async throws {
    let fixture = try LoadingFixture { _ in
      var reply = Reply.repeating(Data("sorry ".utf8), length: 1 << 40)
      reply.status = .internalServerError
      return reply
    }

    let error = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: fixture.picture()) }

    #expect(error?.kind == .status)
    #expect(error?.body?.count == 64 << 10)
    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test func failureIsRememberedForItsAge() async throws {
    let clock = ManualClock()
    let fixture = try LoadingFixture {
      $0.clock = clock
    } respond: { _ in
      .status(.notFound)
    }

    for _ in 0..<5 { _ = try? await fixture.loader.image(for: fixture.picture()) }
    let other = await #expect(throws: ImageLoadError.self) {
      try await fixture.loader.image(for: fixture.picture(fitting: 20))
    }
    #expect(fixture.server.requests.count == 1)
    #expect(other?.isRemembered == true)

    clock.advance(by: .seconds(9))
    _ = try? await fixture.loader.image(for: fixture.picture())
    #expect(fixture.server.requests.count == 1)

    clock.advance(by: .seconds(1))
    _ = try? await fixture.loader.image(for: fixture.picture())
    #expect(fixture.server.requests.count == 2)
  }

  @Test func forgottenFailureIsTriedAgain() async throws {
    let clock = ManualClock()
    let fixture = try LoadingFixture {
      $0.clock = clock
    } respond: { _ in
      .status(.notFound)
    }
    let request = fixture.picture()
    var reload = request
    reload.http.options.cachePolicy = .reloadRevalidatingCacheData

    _ = try? await fixture.loader.image(for: request)
    _ = try? await fixture.loader.image(for: reload)
    fixture.loader.forgetFailure(of: request)
    _ = try? await fixture.loader.image(for: request)
    fixture.loader.forgetFailures()
    _ = try? await fixture.loader.image(for: request)

    #expect(fixture.server.requests.count == 4)
  }

  @Test func cancelledAndCacheOnlyLoadsAreNotRemembered() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    var stored = fixture.picture()
    stored.http.options.cachePolicy = .returnCacheDataDontLoad

    let error = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: stored) }
    #expect(error?.httpError?.kind == .notCached)

    #expect(try await fixture.loader.image(for: fixture.picture()).bitmap.size.width == 40)
  }

  @Test func failedReloadKeepsTheStoredImage() async throws {
    let fixture = try LoadingFixture(cache: HTTPCache()) {
      $0.cache = nil
    } respond: { _ in
      try .picture().with(.cacheControl, "max-age=60")
    }
    _ = try await fixture.loader.image(for: fixture.picture())
    fixture.server.stop()
    var reload = fixture.picture()
    reload.http.options.cachePolicy = .reloadIgnoringCacheData

    let error = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: reload) }

    #expect(error?.kind == .network)
    #expect(try await fixture.loader.image(for: fixture.picture()).source == .session(.cache))
  }

  @Test func oneTooLargeSizeDoesNotAffectTheOthers() async throws {
    let fixture = try LoadingFixture {
      $0.decoding.limits = .init(bytes: 100_000)
    } respond: { _ in
      try .picture("coffee.jpg")
    }

    let whole = await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: fixture.picture()) }
    #expect(whole?.kind == .tooLarge)

    #expect(try await fixture.loader.image(for: fixture.picture(fitting: 60)).bitmap.size.width == 60)
  }
}
