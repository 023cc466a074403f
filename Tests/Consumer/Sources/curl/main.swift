import Foundation
import MartletCurl
import MartletEngine

guard let url = URL(string: CommandLine.arguments[1]) else { fatalError("not a URL: \(CommandLine.arguments[1])") }
let session = HTTPSession(transport: CurlTransport())
let (data, response) = try await session.data(for: HTTPRequest(.get, url))
print(response.status.code, data.count)
