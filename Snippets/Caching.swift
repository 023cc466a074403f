// A cache in memory: one part of it is for one user alone, and it provides answers when there is no network.

import Martlet
import MartletTesting

let server = try LoopbackServer { _ in .text("hello").with(.cacheControl, "max-age=60") }

let cache = HTTPCache(store: MemoryCacheStore(capacity: 64 << 20))
var configuration = SessionConfiguration()
configuration.cache = cache
let session = HTTPSession(configuration: configuration)

var request = HTTPRequest(.get, server.url)
request.options.partition = "user-42"
request.options.cachePolicy = .returnCacheDataIfOffline

for _ in 1...2 {
  let (data, response) = try await session.data(for: request)
  print(response.source, data.count)
}

server.stop()
request.fields[.cacheControl] = "no-cache"  // goes to the server, whatever is stored
print(try await session.data(for: request).1.source)

try await cache.removePartition("user-42")  // when the user signs out

// Prints:
// network 5
// cache 5
// offline
