#if os(Linux)
import Foundation
import MartletSemantics
import Testing

@testable import MartletSockets

@Suite
struct HTTP1ServersTests {
  @Test func theServersThatWereNotedLastAreKept() throws {
    let origins = try (0...1000).map { try #require(Origin(URL(string: "https://host\($0).example/")!)) }
    let servers = HTTP1Servers()
    for origin in origins { servers.note(origin, isHTTP2: false) }
    #expect(!servers.contains(origins[0]))
    #expect(origins.dropFirst().allSatisfy { servers.contains($0) })

    servers.note(origins[1], isHTTP2: true)

    #expect(!servers.contains(origins[1]) && servers.contains(origins[2]))
  }
}
#endif
