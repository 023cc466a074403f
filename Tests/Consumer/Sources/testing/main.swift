import MartletTesting

let server = try LoopbackServer { _ in .text("hello") }
print(server.url.absoluteString)
