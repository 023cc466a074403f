import Martlet

/// A stranger's transport: it answers from memory, as a server would that wants a key and remembers its visitors.
struct Shelf: Transport {
  let books: [String: String]

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard request.fields[.authorization] == "Key 42" else {
      return HTTPResponse(status: .unauthorized, fields: [.wwwAuthenticate: "Key realm=shelf"], url: request.url)
    }
    let visits = (request.fields[.cookie] ?? "visits=0").split(separator: "=").last.flatMap { Int($0) } ?? 0
    guard let title = books[request.url.lastPathComponent] else {
      return HTTPResponse(status: .notFound, url: request.url)
    }
    return HTTPResponse(
      fields: [.contentType: "application/json", .setCookie: "visits=\(visits + 1)"],
      body: ResponseBody(Data(#"{"title": "\#(title)", "visits": \#(visits)}"#.utf8)), url: request.url)
  }
}
