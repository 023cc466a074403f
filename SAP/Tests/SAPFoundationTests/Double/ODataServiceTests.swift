import Foundation
import Martlet
import MartletTesting
import SAPFoundationTesting
import Testing

@Suite("The OData service of SAPFoundationTesting", .timeLimit(.minutes(5)))
struct ODataServiceTests {
  private let server: LoopbackServer
  private let session: HTTPSession

  init() throws {
    let service = ODataService(.init(version: .v4, sets: ["Orders": #"[{"ID": 1}, {"ID": 2}]"#]))
    server = try LoopbackServer { service.reply(to: $0.received) }
    var configuration = SessionConfiguration()
    configuration.cache = nil
    session = HTTPSession(configuration: configuration)
  }

  private func get(_ target: String) async throws -> HTTPResponse {
    try await session.data(for: HTTPRequest(.get, server.url(target))).1
  }

  private func post(
    _ target: String, _ text: String, type: String = "application/json"
  ) async throws -> (String, HTTPResponse) {
    let request = HTTPRequest(.post, server.url(target), fields: [.contentType: type], body: .data(Data(text.utf8)))
    let (data, response) = try await session.data(for: request)
    return (String(decoding: data, as: UTF8.self), response)
  }

  @Test(arguments: ["$skip", "$top", "$skiptoken"], ["-1", "\(Int.min)", "x", "99999999999999999999"])
  func anOptionThatIsNoCountIsRefused(_ option: String, _ value: String) async throws {
    #expect(try await get("/odata/Orders?\(option)=\(value)").status == 400)
  }

  @Test(arguments: ["$skip", "$top", "$skiptoken"])
  func aCountMayBeAsLargeAsPossible(_ option: String) async throws {
    #expect(try await get("/odata/Orders?\(option)=\(Int.max)").status == 200)
  }

  @Test func afterTheLargestNumberTheSmallestFreeOneIsAssigned() async throws {
    let (_, largest) = try await post("/odata/Orders", #"{"ID": \#(Int.max)}"#)
    #expect(largest.status == 201)

    let (_, next) = try await post("/odata/Orders", "{}")

    #expect(next.fields[.location]?.hasSuffix("Orders(3)") == true)
  }

  // MARK: - Batches

  private func batch(_ part: String) async throws -> String {
    try await post("/odata/$batch", "--b\r\n\(part)\r\n--b--\r\n", type: "multipart/mixed; boundary=b").0
  }

  private func part(_ line: String) -> String {
    "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\(line)\r\n\r\n"
  }

  @Test func aPartWithoutAPathReadsTheRoot() async throws {
    let root = server.url("/odata/").absoluteString

    for target in ["?", "?$format=json", root] {
      let answer = try await batch(part("GET \(target) HTTP/1.1"))
      #expect(answer.contains("HTTP/1.1 200") && answer.contains(#"{"value":[]}"#), "\(target): \(answer)")
    }
  }

  @Test func aBatchThatIsCutOffIsNotExecuted() async throws {
    let text = "--b\r\n" + part("GET Orders HTTP/1.1")
    let (answer, head) = try await post("/odata/$batch", text, type: "multipart/mixed; boundary=b")
    #expect(head.status == 400 && answer.contains("no batch"), "\(answer)")
  }

  @Test func aBatchWithinABatchIsRefused() async throws {
    let answer = try await batch(part("POST $batch HTTP/1.1"))
    #expect(answer.contains("HTTP/1.1 400") && answer.contains("A batch cannot contain a batch"), "\(answer)")

    let inner = #"{"id": "2", "method": "GET", "url": "Orders"}"#
    let json = #"{"id": "1", "method": "POST", "url": "$batch", "headers": {"content-type": "application/json"},"#
    let (text, outer) = try await post("/odata/$batch", #"{"requests": [\#(json) "body": {"requests": [\#(inner)]}}]}"#)

    #expect(outer.status == 200)
    #expect(text.contains(#""status":400"#) && !text.contains(#""status":200"#), "\(text)")
  }
}
