// Text of servers that do not use UTF-8: by the charset of the response, or by one that the program knows.

import Martlet
import MartletTesting

let server = try LoopbackServer { request in
  request.path == "/japan"
    ? .data(Data([0x93, 0xFA, 0x96, 0x7B]), type: "text/plain; charset=Shift_JIS")
    : .data(Data([0xD6, 0xD0, 0xB9, 0xFA]), type: "text/plain; charset=gb2312")
}
let session = HTTPSession()

for path in ["/japan", "/china"] {
  let (text, response) = try await session.text(for: HTTPRequest(.get, server.url(path)))
  print(response.fields[.contentType] ?? "", text)
}

// Prints:
// text/plain; charset=Shift_JIS 日本
// text/plain; charset=gb2312 中国
