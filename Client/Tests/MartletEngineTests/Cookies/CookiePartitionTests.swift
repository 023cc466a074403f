@_spi(Credentials) @_spi(Stores) @testable import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("Partitions of a cookie jar", .timeLimit(.minutes(5)))
struct CookiePartitionTests {
  private let home = url("https://www.example.com/")
  private let jar = CookieJar()

  private func fill() async throws {
    for (jar, value) in [(jar, "all"), (jar.partition("anna"), "anna"), (jar.partition("ben"), "ben")] {
      try await jar.store(setCookie: ["id=\(value)", "kept=\(value); Max-Age=60"], for: home)
    }
  }

  private func ids() async throws -> [String?] {
    var values: [String?] = []
    for jar in [jar, jar.partition("anna"), jar.partition("ben")] {
      values.append(try await jar.cookies(for: home).first { $0.name == "id" }?.value)
    }
    return values
  }

  @Test func everyMethodSeesTheCookiesOfItsPartitionAlone() async throws {
    try await fill()
    let anna = jar.partition("anna")

    #expect(try await ids() == ["all", "anna", "ben"])
    #expect(try await anna.cookieHeader(for: home) == "id=anna; kept=anna")
    #expect(try await anna.allCookies().map(\.value) == ["anna", "anna"])
    #expect(try await jar.allCookies().map(\.value) == ["all", "all"])
    #expect(try await anna.exportNetscape().contains("anna"))
    #expect(try await !anna.exportNetscape().contains("ben"))
    #expect(try await jar.partition("carl").allCookies().isEmpty)
    #expect(try await jar.partition("").allCookies().count == 2)

    try await anna.removeSessionCookies()
    #expect(try await ids() == ["all", nil, "ben"])
    try await jar.partition("ben").remove(Cookie(name: "id", value: "", domain: "www.example.com"))
    #expect(try await ids() == ["all", nil, nil])
    try await jar.removeCookies(inDomain: "example.com")
    #expect(try await anna.allCookies().map(\.value) == ["anna"])
  }

  @Test func removingAPartitionKeepsTheOthers() async throws {
    try await fill()

    try await jar.partition("anna").removeAll()
    #expect(try await ids() == ["all", nil, "ben"])

    try await jar.removeAll()
    #expect(try await ids() == [nil, nil, nil])
  }

  @Test(arguments: [("anna", ["all", nil, "ben"]), ("", [nil, "anna", "ben"]), ("carl", ["all", "anna", "ben"])])
  func oneOfSeveralUsersSignsOut(_ name: String, left: [String?]) async throws {
    try await fill()
    let call = Call()
    let head = ResponseHead(status: .ok, fields: [.setCookie: "id=late"])

    try await jar.removePartition(name)

    #expect(try await ids() == left)
    _ = try await jar.partition(name).store(
      from: head, for: home, in: Cookie.Context(), sentWith: [:], begun: .init(call.id))
    #expect(try await ids() == left, "the request began before the sign-out")
    let later = Call()
    _ = try await jar.partition(name).store(
      from: head, for: home, in: Cookie.Context(), sentWith: [:], begun: .init(later.id))
    #expect(try await jar.partition(name).cookies(for: home).map(\.value) == ["late"])
  }

  /// Otherwise the line of every later request would be made again.
  @Test(arguments: ["", "anna"])
  func aSignOutThatRemovesNothingChangesNothing(_ name: String) async throws {
    let store = MemoryCookieStore()
    let jar = CookieJar(store: store)
    try await jar.partition("ben").store(setCookie: ["id=1"], for: home)
    let before = store.revision

    try await jar.removePartition(name)

    #expect(store.revision == before)
    #expect(try await jar.partition("ben").allCookies().map(\.value) == ["1"])
  }

  @Test func aSignOutConcernsTheCallsOfItsPartition() async throws {
    let call = Call()
    let head = ResponseHead(status: .ok, fields: [.setCookie: "id=late"])
    try await jar.partition("anna").removeAll()

    for jar in [jar, jar.partition("anna"), jar.partition("ben")] {
      _ = try await jar.store(from: head, for: home, in: Cookie.Context(), sentWith: [:], begun: .init(call.id))
    }

    #expect(try await ids() == ["late", nil, "late"])
  }

  @Test func theSignOutsOfManyPartitionsAreRemembered() {
    var signOuts = PartitionSignOuts()
    let early = Call()
    for number in 0..<3000 { signOuts.set("/\(number)") }
    let late = Call()

    for mark in ["/0", "/1500", "/2999"] {
      #expect(signOuts.isAfter(early.id, mark))
      #expect(!signOuts.isAfter(late.id, mark))
    }
  }

  @Test func onlyTheSignOutsThatAreForgottenConcernOtherPartitions() {
    var signOuts = PartitionSignOuts()
    let early = Call()
    for number in 0..<200 { signOuts.set("/\(number)") }
    let call = Call()
    for number in 200..<1025 { signOuts.set("/\(number)") }

    #expect(signOuts.isAfter(early.id, "/other"), "one sign-out is forgotten, and counts for all partitions")
    #expect(!signOuts.isAfter(call.id, "/other"))
    #expect(signOuts.isAfter(call.id, "/200"))
    #expect(!signOuts.isAfter(call.id, "/199"))
  }

  /// The store may be on a server that others can read.
  @Test func theStoreDoesNotLearnTheNames() async throws {
    let store = MemoryCookieStore()
    try await CookieJar(store: store).partition("anna/../x").store(setCookie: ["id=1"], for: home)

    let places = try await Array(store.allCookies().keys)
    #expect(places.count == 1)
    #expect(places.allSatisfy { $0.hasPrefix("example.com/") && !$0.contains("anna") })
  }

  @Test func theLineOfOnePartitionIsNotThatOfAnother() async throws {
    try await fill()
    let request = HTTPRequest(.get, home)

    for _ in 0..<2 {
      for name in ["", "anna", "ben", "carl"] {
        let line = jar.partition(name).immediateLine(for: request, in: Cookie.Context())
        let value = name.isEmpty ? "all" : name
        #expect(line?.fields[.cookie] == (name == "carl" ? nil : "id=\(value); kept=\(value)"))
      }
    }
  }
}
