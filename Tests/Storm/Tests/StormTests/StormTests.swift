import Storm
import Testing

/// The short form of `make storm`.
@Suite("Storm", .timeLimit(.minutes(5)))
struct StormTests {
  private static let service = Result { try StormService() }

  private static let names = (try? service.get()).map { EntryPoint.all(of: $0).map(\.name) } ?? []

  @Test(arguments: names)
  func eachOperationThatIsCancelledAtSomeMomentEndsOnce(name: String) async throws {
    let service = try Self.service.get()
    let entry = try #require(EntryPoint.all(of: service).first { $0.name == name })

    let (done, problems) = await Storm(service, threads: 2).run(entry, count: 60)

    #expect(done == 60)
    #expect(problems == [])
  }
}
