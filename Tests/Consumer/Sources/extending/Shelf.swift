import Martlet

/// A stranger's transport: it answers from memory, as a server would that wants a key and remembers its visitors.
struct Shelf: Transport {
  let books: [String: String]

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard request.fields[.authorization] == "Key 42" else {
      return response(to: request, .unauthorized, [.wwwAuthenticate: "Key realm=shelf"])
    }
    let visits = (request.fields[.cookie] ?? "visits=0").split(separator: "=").last.flatMap { Int($0) } ?? 0
    guard let title = books[request.url.lastPathComponent] else {
      return response(to: request, .notFound)
    }
    return response(
      to: request, .ok, [.contentType: "application/json", .setCookie: "visits=\(visits + 1)"],
      #"{"title": "\#(title)", "visits": \#(visits)}"#)
  }

  /// A response of the network: the jar reads cookies from no other.
  private func response(
    to request: HTTPRequest, _ status: HTTPStatus, _ fields: HTTPFields = [:], _ text: String = ""
  ) -> HTTPResponse {
    HTTPResponse(
      url: request.url, networkHead: ResponseHead(status: status, fields: fields), body: ResponseBody(Data(text.utf8)))
  }
}
