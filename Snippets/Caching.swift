// A cache in memory, parts of it for one user alone, and answers from it when the network is gone.

import Martlet

guard let url = CommandLine.arguments.last.flatMap(URL.init(string:)) else { fatalError("usage: Caching URL") }

let cache = HTTPCache(store: MemoryCacheStore(capacity: 64 << 20))
var configuration = SessionConfiguration()
configuration.cache = cache
let session = HTTPSession(configuration: configuration)

var request = HTTPRequest(.get, url)
request.options.cachePartition = "user-42"
request.options.cachePolicy = .returnCacheDataIfOffline

for _ in 1...2 {
  let (data, response) = try await session.data(for: request)
  print(response.source, data.count)
}
try await cache.removePartition("user-42")  // when the user signs out
