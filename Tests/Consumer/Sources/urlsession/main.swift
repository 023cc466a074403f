import Foundation
import MartletEngine
import MartletURLSession

let session = HTTPSession(transport: URLSessionTransport())
let (data, response) = try await session.data(for: HTTPRequest(.get, URL(string: CommandLine.arguments[1])!))
print(response.status.code, data.count)
