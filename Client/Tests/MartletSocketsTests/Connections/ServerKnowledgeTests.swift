#if os(Linux)
import Foundation
import MartletSemantics
import Testing

@testable import MartletSockets

@Suite
struct ServerKnowledgeTests {
  @Test func theServersThatWereNotedLastAreKept() throws {
    let origins = try (0...1000).map { try #require(Origin(URL(string: "https://host\($0).example/")!)) }
    let noted = NotedOrigins()
    #expect(noted.isEmpty)
    for origin in origins { noted.insert(origin) }
    #expect(!noted.contains(origins[0]))
    #expect(origins.dropFirst().allSatisfy { noted.contains($0) })

    noted.remove(origins[1])

    #expect(!noted.contains(origins[1]) && noted.contains(origins[2]))
  }
}
#endif
