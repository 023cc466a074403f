#if os(Linux)
import Foundation
import MartletSemantics
import TestSupport
import Testing

@testable import MartletSockets

@Suite("Servers whose certificates were accepted", .timeLimit(.minutes(5)))
struct CheckedServersTests {
  private static let certificates = [Data("certificate".utf8)]

  private static func server(_ number: Int) throws -> Origin {
    try #require(Origin(url("https://\(number).example/")))
  }

  @Test func theServersThatWereUsedLastAreNotCheckedAgain() throws {
    let servers = CheckedServers()
    for number in 0..<1000 { servers.insert(Self.certificates, of: try Self.server(number)) }
    #expect(servers.contains(Self.certificates, of: try Self.server(0)))

    servers.insert(Self.certificates, of: try Self.server(1000))

    #expect(servers.contains(Self.certificates, of: try Self.server(0)))
    #expect(!servers.contains(Self.certificates, of: try Self.server(1)))
    #expect(servers.contains(Self.certificates, of: try Self.server(2)))
  }

  @Test func theLastSetsOfCertificatesOfAServerAreKept() throws {
    let servers = CheckedServers()
    let server = try Self.server(0)
    for number in 0..<17 { servers.insert([Data("\(number)".utf8)], of: server) }
    #expect(!servers.contains([Data("0".utf8)], of: server))
    for number in 1..<17 { #expect(servers.contains([Data("\(number)".utf8)], of: server)) }
  }
}
#endif
