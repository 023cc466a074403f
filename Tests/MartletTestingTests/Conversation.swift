import MartletSemantics
import MartletTesting

/// A server and one client that is connected to it.
struct Conversation {
  let server: LoopbackServer
  let client: RawClient

  init(_ respond: @escaping LoopbackServer.Responder) throws {
    server = try LoopbackServer(respond: respond)
    client = try RawClient(port: server.port)
  }

  func send(_ text: String) throws { try client.send(text) }
  func get(_ target: String, _ fields: String...) throws { try client.request("GET", target, fields) }
  func request(_ method: String, _ target: String, _ fields: String...) throws {
    try client.request(method, target, fields)
  }
  func head() throws -> String { try client.head() }
  func response() throws -> (head: String, body: String) { try client.response() }
  func receive(_ count: Int) throws -> String { try client.receive(count) }
  func rest() throws -> String { try client.rest() }
  func countRest() throws -> Int { try client.countRest() }
}
