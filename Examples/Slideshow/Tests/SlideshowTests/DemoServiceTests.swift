import Martlet
import MartletTesting
import SlideshowModel
import SlideshowService
import Testing

@Suite("The demo service", .timeLimit(.minutes(5)))
struct DemoServiceTests {
  @Test func theDemoServiceAnswersAsAStaticServer() async throws {
    let demo = try DemoService()
    let session = HTTPSession.slideshow()
    let url = demo.imageBase.appending(path: "coffee.jpg")

    let (_, head) = try await session.data(for: HTTPRequest(.head, url))
    let tag = try #require(head.fields[.eTag])
    let (part, ranged) = try await session.data(for: HTTPRequest(.get, url, fields: [.range: "bytes=0-1"]))
    let (_, unchanged) = try await session.data(for: HTTPRequest(.get, url, fields: [.ifNoneMatch: tag]))

    #expect(head.fields[.contentLength] == "68531")
    #expect(ranged.status == 206)
    #expect(part == Data([0xFF, 0xD8]))
    #expect(unchanged.status == 304)
  }

  @Test func aBusyPortIsToldWithItsNumber() throws {
    let server = try LoopbackServer { _ in .text("") }

    let error = #expect(throws: LoopbackServerError.self) { try DemoService(port: server.port) }

    #expect("\(error as Any)".contains("\(server.port)"))
  }
}
