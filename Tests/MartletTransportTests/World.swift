import MartletCurl
import MartletEngine
import MartletSemantics
import MartletTesting
import MartletURLSession
import Testing

/// Something that answers requests by a closure: a server for the transports that need one, a mock for the one that is it.
struct World {
  let transport: any Transport
  let base: URL
  private let server: LoopbackServer?

  /// What was asked.
  struct Question {
    let method: HTTPMethod
    let target: String
    let fields: HTTPFields
    let body: Data
  }

  /// What is answered.
  struct Told: Answer {
    var status: HTTPStatus
    var fields: HTTPFields
    var content: Data
    var interim: [ResponseHead] = []

    init(status: HTTPStatus, fields: HTTPFields, content: Data) {
      self.status = status
      self.fields = fields
      self.content = content
    }
  }

  init(_ wire: Wire, answer: @escaping @Sendable (Question) -> Told) throws {
    guard wire == .mock else {
      let server = try LoopbackServer { request in
        let told = answer(
          Question(
            method: request.method, target: request.target, fields: request.fields, body: request.received.body))
        return told.interim.reduce(Reply(status: told.status, fields: told.fields, content: told.content)) {
          $0.preceded(by: $1.status, fields: $1.fields)
        }
      }
      self.server = server
      transport = wire.makeTransport()
      base = server.url
      return
    }
    server = nil
    base = try #require(URL(string: "http://mock.invalid"))
    transport = MockTransport { request in
      let question = Question(
        method: request.method, target: request.url.path, fields: request.request.fields,
        body: try await request.readBody(upTo: 64 << 20))
      let told = answer(question)
      var response = MockResponse(
        status: told.status, fields: told.fields, content: question.method == .head ? Data() : told.content)
      response.interim = told.interim
      return response
    }
  }

  func url(_ target: String) throws -> URL { try #require(URL(string: base.absoluteString + target)) }
}
