import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("A netrc file", .timeLimit(.minutes(5)))
struct NetrcFileTests {
  private func file(_ text: String, permissions: Int = 0o600) throws -> URL {
    let url = FileManager.default.temporaryDirectory.appending(component: "netrc-\(UUID().uuidString)")
    try Data(text.utf8).write(to: url)
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: url.path)
    return url
  }

  @Test func itsCredentialsAreSentToTheirHostsOnly() async throws {
    let file = try file("machine a.example login anna password secret")
    defer { try? FileManager.default.removeItem(at: file) }
    let server = PasswordServer(.basic)
    let session = server.session(PasswordSource(try .file(file)))

    #expect(try await session.data(for: HTTPRequest(.get, url("http://a.example/"))).1.status == .ok)
    #expect(try await session.data(for: HTTPRequest(.get, url("http://b.example/"))).1.status == .unauthorized)
    #expect(server.schemes == ["-", "Basic", "-"])
  }

  @Test(arguments: [0o644, 0o640, 0o604, 0o620])
  func aFileThatIsAccessibleToOthersIsAnError(permissions: Int) throws {
    let file = try file("machine a login b password hidden", permissions: permissions)
    defer { try? FileManager.default.removeItem(at: file) }

    let error = #expect(throws: HTTPError.self) { try Netrc.file(file) }
    #expect(error?.kind == .file)
    #expect(error?.message.contains("chmod 600") == true)
    #expect(error?.message.contains("hidden") == false)
  }

  @Test func theErrorOfAMissingOrInvalidFileContainsItsPath() throws {
    let missing = #expect(throws: HTTPError.self) { try Netrc.file(URL(filePath: "/nowhere/netrc")) }
    #expect(missing?.message.contains("/nowhere/netrc") == true)

    let file = try file("machine a login \"hidden")
    defer { try? FileManager.default.removeItem(at: file) }
    let broken = #expect(throws: HTTPError.self) { try Netrc.file(file) }
    #expect(broken?.message.contains("line 1") == true)
    #expect(broken?.message.contains("hidden") == false)
  }
}
