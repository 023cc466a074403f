import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Passports and API keys", .timeLimit(.minutes(5)))
struct PassportTests {
  private func bytes(_ value: String) -> [UInt8] {
    stride(from: 0, to: value.utf8.count, by: 2).compactMap { UInt8(value.dropFirst($0).prefix(2), radix: 16) }
  }

  private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func everyFieldIsAtThePlaceThatOpenUI5Gives() throws {
    let root = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
    let step = try #require(UUID(uuidString: "FFEEDDCC-BBAA-9988-7766-554433221100"))
    let passport = Passport(
      component: "com.example.app", action: String(repeating: "x", count: 50) + "é", user: "anna", traceLevel: .medium,
      rootContextID: root, transactionID: step)

    let value = passport.headerValue
    let bytes = bytes(value)
    #expect(value.utf8.count == 460 && bytes.count == 230 && value == value.uppercased())
    #expect(text(bytes[0..<4]) == "*TH*" && text(bytes[226..<230]) == "*TH*")
    #expect(Array(bytes[4..<9]) == [3, 0, 230, 0x89, 0x0A])
    let component = "com.example.app" + String(repeating: " ", count: 17)
    #expect(text(bytes[9..<41]) == component && text(bytes[117..<149]) == component)
    #expect(text(bytes[43..<75]) == "anna" + String(repeating: " ", count: 28))
    #expect(text(bytes[75..<115]) == String(repeating: "x", count: 39) + "?")
    #expect(text(bytes[149..<184]) == "FFEEDDCCBBAA99887766554433221100   ")
    #expect(value.dropFirst(372).prefix(32) == "00112233445566778899AABBCCDDEEFF")
    #expect(Array(bytes[202..<226]) == [UInt8](repeating: 0, count: 23) + [226])
  }

  @Test func everyRequestHasOneAndAResendKeepsIt() async throws {
    let server = try LoopbackServer { request in
      request.path == "/busy" && request.fields["X-Seen"] == nil ? .status(503) : .text("")
    }
    let session = SAPURLSession.uncached(SAPPassportObserver())
    for _ in 0..<2 { _ = await session.get(server.url("/")) }

    let values = server.requests.compactMap { $0.fields["SAP-PASSPORT"] }
    #expect(values.count == 2 && Set(values).count == 2)
    #expect(Set(values.map { $0.dropFirst(372).prefix(32) }).count == 1)
  }

  @Test func aManagersPassportIsSentAndItsErrorIsTheTasks() async throws {
    final class Broken: SAPPassportManaging {
      func getPassport() throws -> Passport { throw TestFailure(name: "no passport") }
      func setPassport(_ passport: Passport) {}
      func clearPassport() {}
    }
    let server = try LoopbackServer { _ in .text("") }
    let stranger = try ThirdParty(.text(""))
    let manager = MeteringPassportManager(component: "app")
    let passport = Passport(component: "mine")
    manager.setPassport(passport)
    let session = SAPURLSession.uncached(SAPPassportObserver(passportManager: manager))
    _ = await session.get(server.url("/"))
    manager.clearPassport()
    _ = await session.get(server.url("/"))

    #expect(server.requests[0].fields["SAP-PASSPORT"] == passport.headerValue)
    #expect(server.requests[1].fields["SAP-PASSPORT"]?.contains("617070") == true)
    let failing = SAPURLSession.uncached(SAPPassportObserver(passportManager: Broken()))
    #expect(await failing.get(stranger.url).error as? TestFailure == TestFailure(name: "no passport"))
  }

  @Test func anAPIKeyIsSentToItsBackendOnly() async throws {
    final class Keys: APIKeyCredentialDiscovery {
      func provideAPIKeyCredential(for appplicationId: String?, user: String?) -> APIKeyCredential? {
        APIKeyCredential(apiKey: "key of \(appplicationId ?? "nobody")")
      }
    }
    let other = try LoopbackServer { _ in .text("") }
    let server = try LoopbackServer { request in
      request.path == "/away" ? .redirect(to: other.url("/").absoluteString) : .text("")
    }
    let session = SAPURLSession.uncached(
      SAPcpmsObserver(applicationID: "app"), APIKeyAuthenticationObserver(apikeyCredentialDiscovery: Keys()))
    for path in ["/", "/away"] { _ = await session.get(server.url(path)) }
    _ = await session.get(other.url("/asked"))
    var own = URLRequest(url: server.url("/own"))
    own.setValue("mine", forHTTPHeaderField: "X-API-Key")
    _ = await session.outcome(of: own)
    let fixed = SAPURLSession.uncached(APIKeyAuthenticationObserver(apiKey: "k", backend: server.url, field: "apikey"))
    _ = await fixed.get(server.url("/fixed"))

    #expect(server.requests.map { $0.fields["X-API-Key"] } == ["key of app", "key of app", "mine", nil])
    #expect(server.requests.last?.fields["apikey"] == "k")
    #expect(other.requests.count == 2 && other.requests.allSatisfy { $0.fields["X-API-Key"] == nil })
    #expect("\(APIKeyCredential(apiKey: "secret"))" == "an API key")
  }
}
