#if os(Linux)
import Foundation
import MartletSemantics
import Testing

@testable import MartletSockets

/// What a transport has found out about servers.
@Suite
struct NotedOriginsTests {
  @Test func allAreForgottenWhenThereAreTooMany() throws {
    let origins = try (0...NotedOrigins.limit).map { try #require(Origin(URL(string: "https://host\($0).example/")!)) }
    var noted = NotedOrigins()
    for origin in origins.dropLast() { noted.insert(origin) }
    #expect(noted.contains(origins[0]))
    noted.remove(origins[0])
    #expect(!noted.contains(origins[0]))
    noted.insert(origins[0])

    noted.insert(origins[NotedOrigins.limit])

    #expect(noted.contains(origins[NotedOrigins.limit]))
    #expect(origins.dropLast().allSatisfy { !noted.contains($0) })
  }
}
#endif
