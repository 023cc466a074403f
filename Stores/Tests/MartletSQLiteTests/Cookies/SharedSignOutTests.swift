import Foundation
import MartletEngine
import MartletSQLite
import MartletSemantics
import MartletTesting
import Testing

/// A sign-out of one process while another one has a response under way. Each jar stands for a process.
@Suite(.timeLimit(.minutes(5)))
struct SharedSignOutTests {
  private let folder: TemporaryFolder
  private let gate = Gate()
  private let arrived = Gate()

  init() throws { folder = try TemporaryFolder() }

  private func jar() throws -> CookieJar {
    CookieJar(store: try SQLiteCookieStore(at: folder.file("cookies.sqlite"), sessionCookies: .persistent))
  }

  private func session(_ jar: CookieJar, isHeld: Bool) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cookies = jar
    let transport = MockTransport { [gate, arrived] _ in
      if isHeld {
        arrived.open()
        try await gate.wait()
      }
      return MockResponse(fields: ["Set-Cookie": "id=\(isHeld ? "late" : "new"); Path=/; Max-Age=3600"])
    }
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func request(of user: String) throws -> HTTPRequest {
    var request = HTTPRequest(.get, try #require(URL(string: "https://www.example.com/")))
    request.options.partition = user
    return request
  }

  private func values(of user: String) async throws -> [String] {
    try await jar().partition(user).allCookies().map(\.value)
  }

  /// - Parameter user: the partition whose user signs out; empty for all.
  @Test(arguments: ["", "anna"], [true, false])
  func aLateResponseInAnotherProcessStoresNoCookie(user: String, hasSignedOutBefore: Bool) async throws {
    let other = try jar()
    if hasSignedOutBefore { try await jar().removeAll() }
    let session = session(other, isHeld: true)
    let request = try request(of: user)
    let late = Task { try await session.data(for: request) }
    try await arrived.wait()

    if user.isEmpty { try await jar().removeAll() } else { try await jar().removePartition(user) }
    gate.open()
    _ = try await late.value

    #expect(try await values(of: user).isEmpty)
    // a call that begins afterwards belongs to the next user
    _ = try await self.session(other, isHeld: false).data(for: request)
    #expect(try await values(of: user) == ["new"])
  }

  @Test func theSignOutOfOneUserLeavesTheOthersTheirCookies() async throws {
    let session = session(try jar(), isHeld: true)
    let request = try request(of: "anna")
    let late = Task { try await session.data(for: request) }
    try await arrived.wait()
    try await jar().removePartition("bert")
    gate.open()
    _ = try await late.value
    #expect(try await values(of: "anna") == ["late"])
  }

  /// A sign-out in this process and a response in it, as before.
  @Test func aLateResponseInTheSameProcessStoresNoCookie() async throws {
    let jar = try jar()
    let session = session(jar, isHeld: true)
    let request = try request(of: "")
    let late = Task { try await session.data(for: request) }
    try await arrived.wait()
    try await jar.removeAll()
    gate.open()
    _ = try await late.value
    #expect(try await values(of: "").isEmpty)
  }
}
