// A form with a photograph, streamed from disk, and an order as JSON, with a decoded answer.

import Martlet
import MartletTesting

struct Order: Codable, Sendable {
  var id: Int
  var lines: [String]
}

func publish(_ photo: URL, to url: URL, in session: HTTPSession) async throws(HTTPError) -> HTTPStatus {
  var form = MultipartForm()
  form.append("Sunset over the bay", for: "title")
  form.append(.file(photo), for: "photo")  // its name and type come from the file's name, its bytes from disk
  var request = HTTPRequest(.post, url, body: .multipart(form))
  request.options.continueTimeout = .seconds(1)  // a server may refuse before anything is sent
  return try await session.data(for: request).1.status
}

func place(_ order: Order, at url: URL, in session: HTTPSession) async throws(HTTPError) -> Order {
  let request = HTTPRequest(.post, url, body: try .json(order).compressed())
  return try await session.value(of: Order.self, for: request).0
}

let server = try LoopbackServer { request in
  print(request.fields.mediaType?.essence ?? "", request.fields[.contentEncoding] ?? "as it is")
  return request.path == "/photos" ? .status(.created) : .json(#"{"id": 7, "lines": ["film", "frame"]}"#)
}
let photo = URL(filePath: "sunset.jpg")
try Data(count: 100_000).write(to: photo)

let session = HTTPSession()
print(try await publish(photo, to: server.url("/photos"), in: session))
print(try await place(Order(id: 0, lines: ["film", "frame"]), at: server.url("/orders"), in: session).id)

// Prints:
// multipart/form-data as it is
// 201 Created
// application/json gzip
// 7
