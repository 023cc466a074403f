@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

/// Trailers of a request's body (RFC 9110 §6.5).
@Suite(.timeLimit(.minutes(5)))
struct TrailerTests {
  /// A body of "hello". Its trailers contain the number of bytes that were read.
  private func counted(length: Int64? = nil) -> RequestBody {
    let count = Mutex(0)
    return .stream(length: length, trailers: { ["X-Count": "\(count.withLock { $0 })"] }) {
      count.withLock { $0 = 0 }
      return AsyncStream<Data>(unfolding: {
        count.withLock { count in
          defer { count += count == 0 ? 5 : 0 }
          return count == 0 ? Data("hello".utf8) : nil
        }
      })
    }
  }

  private func read(_ body: RequestBody) async throws -> (data: Data, trailers: HTTPFields) {
    let source = try await body.open().source
    var data = Data()
    while let chunk = try await source.next() { data.append(chunk) }
    #expect(try await source.next() == nil)
    return (data, source.trailers)
  }

  @Test func trailersAreMadeAfterTheBodyOfEachAttempt() async throws {
    let body = counted()
    for _ in 0..<2 {
      let (data, trailers) = try await read(body)
      #expect(data == Data("hello".utf8))
      #expect(trailers == ["X-Count": "5"])
    }
    #expect(body.description == "a stream as body with trailers")
  }

  @Test func trailersStayWithABodyThatIsWatchedOrCompressed() async throws {
    for body in [counted().tapped { _ in }, counted().compressed(), counted(length: 5).compressed(.deflate)] {
      #expect(body.hasTrailers)
      #expect(try await read(body).trailers == ["X-Count": "5"])
    }
  }

  @Test func anEmptyBodyWithTrailersIsNotEmpty() {
    #expect(!RequestBody.stream(length: 0, trailers: { [:] }) { AsyncStream<Data> { $0.finish() } }.isEmpty)
    #expect(RequestBody.stream(length: 0) { AsyncStream<Data> { $0.finish() } }.isEmpty)
  }

  // RFC 9110 §6.5.1.
  @Test(arguments: ["Content-Length", "transfer-encoding", "Host", "Authorization", "Content-Type", "Cookie"])
  func fieldsThatMatterForTheHeadAreNoTrailers(_ name: String) async throws {
    let fields: HTTPFields = try [FieldName(name): "1"]
    let error = await #expect(throws: HTTPError.self) {
      try await read(.stream(trailers: { fields }) { AsyncStream<Data> { $0.finish() } })
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.lowercased().contains(name.lowercased()) == true)
  }

  @Test func aTrailerWithAControlCharacterIsAnErrorOfASentRequest() async throws {
    var fields = HTTPFields()
    fields["X-Sum"] = "1\r\nX-Other: 2"
    let error = await #expect(throws: HTTPError.self) {
      try await read(.stream(trailers: { [fields] in fields }) { AsyncStream<Data> { $0.finish() } })
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.phase == .sending)
    #expect(error?.isUnsent == false)
  }

  @Test func anErrorOfTheTrailersIsThatOfTheBody() async throws {
    struct Mishap: Error {}
    await #expect(throws: Mishap.self) {
      try await read(.stream(trailers: { throw Mishap() }) { AsyncStream<Data> { $0.finish() } })
    }
  }

  @Test func aPartOfAFormHasNoTrailers() async throws {
    let form = MultipartForm([.init(name: "part", body: counted(length: 5))])
    let error = await #expect(throws: HTTPError.self) { try await RequestBody.multipart(form).open() }
    #expect(error?.message.contains("'part'") == true)
  }
}
