import MartletEngine
import MartletSemantics
import MartletSQLite
import MartletTesting
import TestSupport
import Testing

@Suite struct SecretValueTests {
  @Test func publicValuesShowNoSecrets() async throws {
    let folder = try TemporaryFolder()
    let cookies = try SQLiteCookieStore(at: folder.file("cookies.sqlite"))
    try await cookies.update("a.example") { $0 = [Cookie(name: "a", value: "hidden", domain: "a.example")] }
    #expect(try await cookies.cookies(in: "a.example").count == 1)
    let values = try SQLiteKeyValueStore(at: folder.file("values.sqlite"))
    try await values.set(Data("hidden".utf8), for: "token")
    #expect(try await values.value(for: "token") != nil)
    let cache = try SQLiteCacheStore(at: folder.file("cache.sqlite"))

    for store in [cookies, values, cache] as [Any] { #expect(!showsSecret(store), "\(type(of: store))") }
  }
}
