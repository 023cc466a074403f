#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import MartletEngine
import MartletSockets

guard let url = URL(string: CommandLine.arguments[1]) else { fatalError("not a URL: \(CommandLine.arguments[1])") }
let session = HTTPSession(transport: SocketTransport())
let (data, response) = try await session.data(for: HTTPRequest(.get, url))
print(response.status.code, data.count)
