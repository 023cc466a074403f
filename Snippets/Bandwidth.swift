// Bandwidth: two downloads that share a maximum rate, and one that fails because it is slower than a minimum.

import Martlet
import MartletTesting

let server = try LoopbackServer { request in
  let file = Reply.data(Data(count: 100_000))
  return request.path == "/stalled" ? file.stalled(after: 50_000) : file
}
let session = HTTPSession()

let background = RateShare(bytesPerSecond: 400_000)
var request = HTTPRequest(.get, server.url)
request.options.maximumRate = background  // requests with the same share have this rate together
request.options.cachePolicy = .reloadIgnoringCacheData
let limited = request
let start = ContinuousClock.now
async let first = session.data(for: limited).0.count
async let second = session.data(for: limited).0.count
print(try await first + second, "bytes")
// All but the last tenth of a second's bytes have waited for those before them.
print("in at least 0.4 s:", ContinuousClock.now - start >= .milliseconds(400))

var slow = HTTPRequest(.get, server.url("/stalled"))
slow.options.minimumRate = MinimumRate(bytesPerSecond: 10_000, over: .seconds(1))
do {
  print(try await session.data(for: slow).0.count)
} catch {
  print(error.kind, error.message)
}

// Prints:
// 200000 bytes
// in at least 0.4 s: true
// tooSlow the body arrived with fewer than 10000 bytes a second for 1 s: see minimumRate
